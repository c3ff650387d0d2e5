//! A plan with its names resolved, which is the input of all passes.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::CheckedPlan;
use super::context::CheckContext;
use super::dependencies::StepDependencies;
use super::writers::SlotWriters;
use crate::Hashing;
use crate::plan::{Node, OnError, Output, Reference, SelfReference, SlotKind};
use crate::{Object, Plan, Step, StepId, Tool};

/// The role in which a plan runs.
#[derive(Clone, Debug)]
pub(super) enum PlanRole {
    /// The top-level plan.
    Main,
    /// A sub-plan, run by a step of another plan.
    Nested {
        /// The number of enclosing plans.
        depth: usize,
        /// The kinds of the caller's slots that the plan may read.
        scopes: Vec<SlotKind>,
    },
}

impl PlanRole {
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Main => 0,
            Self::Nested { depth, .. } => *depth,
        }
    }

    /// Returns true if the slots of `kind` are those of the caller.
    pub(super) fn shares(&self, kind: SlotKind) -> bool {
        match self {
            Self::Main => false,
            Self::Nested { scopes, .. } => scopes.contains(&kind),
        }
    }

    pub(super) fn is_main(&self) -> bool {
        matches!(self, Self::Main)
    }
}

/// A plan with its names resolved: ids, tools, sub-plans, dependencies.
pub(super) struct ResolvedPlan<'a> {
    pub(super) plan: &'a Plan,
    pub(super) context: &'a CheckContext<'a>,
    pub(super) role: &'a PlanRole,
    pub(super) ids: &'a HashMap<StepId, u32, Hashing>,
    pub(super) writers: &'a SlotWriters,
    /// The tool of each step that calls a known one.
    pub(super) tools: &'a [Option<Arc<Tool>>],
    /// The checked plan of each step that runs one without errors.
    pub(super) sub_plans: &'a [Option<CheckedPlan>],
    /// The dependencies of each step.
    pub(super) dependencies: &'a [StepDependencies],
    /// The given inputs by name. Empty for a sub-plan, whose arguments differ between calls.
    pub(super) given: &'a Object,
}

/// A reference and its location in the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferenceUse<'a> {
    pub(super) reference: &'a Reference,
    /// The step; `None` for the plan's output.
    pub(super) step: Option<(u32, &'a Step)>,
    pub(super) self_reference: SelfReference,
    pub(super) loop_scope: LoopScope,
}

/// The loop variables that a part of a step may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopScope {
    /// None: the part is evaluated once for the whole loop, as the list of a `for_each` or the output of a failed step.
    None,
    /// The item: the condition is evaluated before the first round.
    Item,
    /// The item and the round.
    Round,
}

impl LoopScope {
    fn of(step: &Step, node: &Node) -> Self {
        // Equal nodes may occur in several parts of a step, so identity decides.
        let is = |part: Option<&Node>| part.is_some_and(|part| std::ptr::eq(part, node));
        let instead = match &step.on_error {
            OnError::Output(node) => Some(node),
            OnError::Fail | OnError::Continue => None,
        };
        if is(step.for_each.as_ref().map(|for_each| &for_each.over)) || is(instead) {
            return Self::None;
        }
        if is(step.when.as_ref()) {
            return Self::Item;
        }
        Self::Round
    }
}

impl<'a> ResolvedPlan<'a> {
    /// Iterates over the steps with their positions.
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
    pub(super) fn each_use(&self, visit: &mut dyn FnMut(ReferenceUse<'a>)) {
        for (index, step) in self.steps() {
            step.each_node(&mut |node: &'a Node, self_reference| {
                let loop_scope = LoopScope::of(step, node);
                node.each_reference(&mut |reference| {
                    visit(ReferenceUse {
                        reference,
                        step: Some((index, step)),
                        self_reference,
                        loop_scope,
                    });
                });
            });
        }
        if let Output::Value(node) = &self.plan.output {
            node.each_reference(&mut |reference| {
                visit(ReferenceUse {
                    reference,
                    step: None,
                    self_reference: SelfReference::Forbidden,
                    loop_scope: LoopScope::None,
                });
            });
        }
    }
}
