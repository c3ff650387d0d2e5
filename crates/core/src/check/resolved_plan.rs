//! What all passes look at: the plan, its surroundings, and what its names lead to.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::CheckedPlan;
use super::context::CheckContext;
use super::dependencies::Waits;
use super::writers::Writers;
use crate::Hashing;
use crate::plan::{Node, OnError, Output, Reference, SelfReference, SlotKind};
use crate::{Object, Plan, Step, StepId, Tool};

/// What a plan is run as.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// By itself.
    Main,
    /// As a step of another plan.
    Step {
        /// How many plans are around it.
        depth: usize,
        /// The kinds of its caller's slots that it may read.
        scopes: Vec<SlotKind>,
    },
}

impl Role {
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Main => 0,
            Self::Step { depth, .. } => *depth,
        }
    }

    /// Whether the slots of `kind` are those of the caller.
    pub(super) fn shares(&self, kind: SlotKind) -> bool {
        match self {
            Self::Main => false,
            Self::Step { scopes, .. } => scopes.contains(&kind),
        }
    }

    pub(super) fn is_main(&self) -> bool {
        matches!(self, Self::Main)
    }
}

/// A plan, its surroundings, and what its names lead to.
pub(super) struct Survey<'a> {
    pub(super) plan: &'a Plan,
    pub(super) context: &'a CheckContext<'a>,
    pub(super) role: &'a Role,
    pub(super) ids: &'a HashMap<StepId, u32, Hashing>,
    pub(super) writers: &'a Writers,
    /// The tool of each step that calls a known one.
    pub(super) tools: &'a [Option<Arc<Tool>>],
    /// The plan of each step that runs a sound one.
    pub(super) sub_plans: &'a [Option<CheckedPlan>],
    /// What each step waits for.
    pub(super) waits: &'a [Waits],
    /// What is given by name: nothing to a plan that runs as a step, whose arguments differ from call to call.
    pub(super) given: &'a Object,
}

/// A reference and where in the plan it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use<'a> {
    pub(super) reference: &'a Reference,
    /// The step; nothing for the plan's output.
    pub(super) step: Option<(u32, &'a Step)>,
    pub(super) reflexive: SelfReference,
    pub(super) sees: Sees,
}

/// How much of its step's loops a part of the step sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sees {
    /// Neither items nor rounds: the list that a `for_each` goes over, and what stands for the output of a step that
    /// failed, once for all of them.
    Nothing,
    /// The item: the condition, which is looked at before the first round.
    Item,
    /// The item and the round.
    Round,
}

impl Sees {
    fn of(step: &Step, node: &Node) -> Self {
        let is = |part: Option<&Node>| part.is_some_and(|part| std::ptr::eq(part, node));
        let instead = match &step.on_error {
            OnError::Output(node) => Some(node),
            OnError::Fail | OnError::Continue => None,
        };
        if is(step.for_each.as_ref().map(|for_each| &for_each.over)) || is(instead) {
            return Self::Nothing;
        }
        if is(step.when.as_ref()) {
            return Self::Item;
        }
        Self::Round
    }
}

impl<'a> Survey<'a> {
    /// The steps, with their positions.
    pub(super) fn steps(&self) -> impl Iterator<Item = (u32, &'a Step)> + use<'a> {
        (0_u32..).zip(&self.plan.steps)
    }

    pub(super) fn tool(&self, step: u32) -> Option<&'a Arc<Tool>> {
        self.tools.get(step as usize)?.as_ref()
    }

    pub(super) fn sub_plan(&self, step: u32) -> Option<&'a CheckedPlan> {
        self.sub_plans.get(step as usize)?.as_ref()
    }

    pub(super) fn step(&self, step: u32) -> Option<&'a Step> {
        self.plan.steps.get(step as usize)
    }

    /// Calls `visit` with every reference in the plan.
    pub(super) fn each_use(&self, visit: &mut dyn FnMut(Use<'a>)) {
        for (index, step) in self.steps() {
            step.each_node(&mut |node: &'a Node, reflexive| {
                let sees = Sees::of(step, node);
                node.each_reference(&mut |reference| {
                    visit(Use {
                        reference,
                        step: Some((index, step)),
                        reflexive,
                        sees,
                    });
                });
            });
        }
        if let Output::Value(node) = &self.plan.output {
            node.each_reference(&mut |reference| {
                visit(Use {
                    reference,
                    step: None,
                    reflexive: SelfReference::Forbidden,
                    sees: Sees::Nothing,
                });
            });
        }
    }
}
