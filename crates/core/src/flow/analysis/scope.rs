//! The state of the analysis of one plan, with the labels that are known so far.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::slots::SlotWrites;
use crate::check::CheckedData;
use crate::flow::graph::NodeId;
use crate::flow::labels::LabelsId;
use crate::plan::{Segment, SlotKind};
use crate::{CheckedStep, Hashing, Step};

/// The state of the analysis of one plan.
pub(super) struct PlanScope<'a, 'p> {
    pub(super) plan: &'a CheckedData,
    /// The path of the steps around the plan, with a slash at its end; empty for the main plan.
    pub(super) prefix: Arc<str>,
    /// The position of the step around the plan.
    pub(super) around_step: Option<u32>,
    pub(super) text: usize,
    /// The labels of the inputs: one label for the main plan, the arguments for an inner one.
    pub(super) inputs: LabelsId,
    pub(super) is_main: bool,
    /// True if steps write slots of the plan, or of the plan around it.
    pub(super) has_slots: bool,
    /// The plan around this one, and the kinds of its slots that this one reads.
    pub(super) around: Option<(&'p PlanScope<'a, 'p>, &'a [SlotKind])>,
    pub(super) known: RefCell<KnownLabels>,
}

/// The labels of a plan that are known so far.
#[derive(Default)]
pub(super) struct KnownLabels {
    /// The outputs of steps, by position.
    pub(super) outputs: ByStep<LabelsId>,
    /// The outputs of one round.
    pub(super) rounds: ByStep<LabelsId>,
    /// The labels of the values that determine the number of rounds, for steps that count them.
    pub(super) rounds_counted: HashMap<u32, NodeId, Hashing>,
    /// The lists of loops.
    pub(super) lists: HashMap<u32, LabelsId, Hashing>,
    /// The items of loops.
    pub(super) items: HashMap<u32, LabelsId, Hashing>,
    /// The labels of the arguments of each step, or of the value that it computes.
    pub(super) arguments: ByStep<LabelsId>,
    /// The labels of the values that may make a step, or an earlier one, fail and end the plan.
    pub(super) failures: ByStep<NodeId>,
    /// The labels of the values that decide whether a step is skipped, if outcomes are read.
    pub(super) skipped: HashMap<u32, NodeId, Hashing>,
    /// The labels of the conditions that decide whether a step has an output.
    pub(super) presence: ByStep<NodeId>,
    /// The labels of the values that decide whether the parts of the outputs of inner plans exist.
    pub(super) presence_of_outputs: HashMap<u32, NodeId, Hashing>,
    /// The labels of the values that decide whether an output of an inner plan has the part that one of its steps returns.
    pub(super) presence_by_name: HashMap<(u32, Arc<str>), NodeId, Hashing>,
    /// Placeholder labels of outputs that were read before they were labelled.
    pub(super) open: HashMap<u32, LabelsId, Hashing>,
    pub(super) slots: HashMap<(SlotKind, Vec<Segment>), LabelsId, Hashing>,
    pub(super) slot_writes: HashMap<(SlotKind, Arc<str>), SlotWrites, Hashing>,
    pub(super) whole_slots: HashMap<(SlotKind, Option<Arc<str>>), LabelsId, Hashing>,
    /// The labels that each step reads from slots, if edges are listed.
    pub(super) slot_reads: HashMap<u32, Vec<NodeId>, Hashing>,
}

/// Values of steps, by position.
pub(super) struct ByStep<T>(Vec<Option<T>>);

impl<T> Default for ByStep<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> ByStep<T> {
    pub(super) fn get(&self, index: u32) -> Option<T> {
        self.0.get(index as usize).copied().flatten()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = T> {
        self.0.iter().copied().flatten()
    }

    pub(super) fn insert(&mut self, index: u32, value: T) {
        let index = index as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        if let Some(slot) = self.0.get_mut(index) {
            *slot = Some(value);
        }
    }
}

impl<'a> PlanScope<'a, '_> {
    pub(super) fn new(
        plan: &'a CheckedData,
        prefix: Arc<str>,
        text: usize,
        inputs: LabelsId,
        is_main: bool,
    ) -> Self {
        Self {
            plan,
            prefix,
            around_step: None,
            has_slots: plan.plan().steps.iter().any(|step| step.writes.is_some()),
            text,
            inputs,
            is_main,
            around: None,
            known: RefCell::default(),
        }
    }

    pub(super) fn step(&self, index: u32) -> Option<(&'a Step, &'a CheckedStep)> {
        let step = self.plan.plan().steps.get(index as usize)?;
        Some((step, self.plan.steps().get(index as usize)?))
    }

    pub(super) fn step_path(&self, step: &Step) -> Arc<str> {
        if self.prefix.is_empty() {
            return Arc::clone(step.id.text());
        }
        format!("{}{}", self.prefix, step.id).into()
    }

    /// Returns the positions of the steps, each after its dependencies, unless they form a cycle.
    pub(super) fn data_order(&self) -> Vec<u32> {
        let steps = self.plan.steps();
        // Most plans are written in such an order.
        let is_ordered = |step: &CheckedStep| {
            let mut dependencies = step.dependencies.iter();
            dependencies.all(|dependency| dependency.on < step.index)
        };
        if steps.iter().all(is_ordered) {
            return steps.iter().map(|step| step.index).collect();
        }
        let mut waiting: Vec<usize> = steps.iter().map(|step| step.dependencies.len()).collect();
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); steps.len()];
        for step in steps {
            for dependency in &step.dependencies {
                if let Some(list) = dependents.get_mut(dependency.on as usize) {
                    list.push(step.index);
                }
            }
        }
        let mut order = Vec::with_capacity(steps.len());
        let mut ready: Vec<u32> = steps
            .iter()
            .rev()
            .filter(|step| step.dependencies.is_empty())
            .map(|step| step.index)
            .collect();
        while let Some(index) = ready.pop() {
            order.push(index);
            for dependent in dependents.get(index as usize).into_iter().flatten() {
                if let Some(left) = waiting.get_mut(*dependent as usize) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        ready.push(*dependent);
                    }
                }
            }
        }
        // Steps that wait for each other are in no order; their labels are completed afterwards.
        if order.len() < steps.len() {
            let mut is_ordered = vec![false; steps.len()];
            for index in &order {
                if let Some(ordered) = is_ordered.get_mut(*index as usize) {
                    *ordered = true;
                }
            }
            let rest = (0_u32..).zip(is_ordered).filter(|(_, ordered)| !ordered);
            order.extend(rest.map(|(index, _)| index));
        }
        order
    }
}
