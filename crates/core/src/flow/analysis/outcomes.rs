//! The labels of control flow that values depend on besides data: the success of a step, and the number of its rounds.

use std::sync::Arc;

use super::{Analysis, PlanScope};
use crate::check::{CheckedData, error_type};
use crate::expression::tests_existence;
use crate::flow::graph::{Flags, LabelOrigin, NodeId};
use crate::flow::labels::LabelsId;
use crate::plan::{Action, Node, OnError, Output, Source};
use crate::{CheckedStep, Step};

impl<'a> Analysis<'a> {
    /// Returns the labels of the number of the round, or of the position of the item. The last round decides the value of a
    /// step; a call of each round has its number in any case.
    pub(super) fn position(&mut self, scope: &PlanScope<'a, '_>, step: Option<u32>) -> LabelsId {
        // An author who has read untrusted text may choose a number of rounds or items.
        let author = if self.store.is_exposed() && self.counts_literals(scope, step) {
            self.store.planner()
        } else {
            self.store.nothing()
        };
        match step.filter(|index| computes_rounds(scope, *index)) {
            Some(index) => {
                let rounds = self.rounds_of(scope, index);
                let rounds = self.store.scalar(rounds);
                self.store.number_from(&[author, rounds])
            }
            None => author,
        }
    }

    /// Returns true if the author of the plan may have chosen the number of rounds of the step, or of the items that it goes through.
    fn counts_literals(&mut self, scope: &PlanScope<'a, '_>, step: Option<u32>) -> bool {
        let found = step.and_then(|index| Some((index, scope.step(index)?.0)));
        let Some((index, step)) = found else {
            return true;
        };
        let (None, Some(for_each)) = (&step.repeat, &step.for_each) else {
            return true;
        };
        let over = self.list_of(scope, index, for_each);
        let count = self.store.count(over);
        count.is_some_and(|count| self.store.graph.may_be_planned(count))
    }

    /// Returns `last`, which a step reads of its last round. A value that is computed from it may count the rounds.
    pub(super) fn counting_rounds(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        last: LabelsId,
    ) -> LabelsId {
        if !computes_rounds(scope, index) {
            return last;
        }
        let rounds = self.rounds_of(scope, index);
        self.store.counted(last, rounds)
    }

    /// Returns the label of what decides how many rounds there are. It is complete once the step is labelled.
    pub(super) fn rounds_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> NodeId {
        let mut known = scope.known.borrow_mut();
        let rounds = known.rounds_counted.entry(index);
        *rounds.or_insert_with(|| self.store.graph.open())
    }

    /// Returns the labels of the outcome of a step: success, data, error and tool.
    pub(super) fn result_of(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        is_own: bool,
    ) -> LabelsId {
        let data = if is_own {
            self.own_round(scope, index)
        } else {
            self.output_of(scope, index)
        };
        let error = self.error_of(scope, index);
        let nothing = self.store.nothing();
        let outcome = self.outcome_of(scope, index);
        self.store.record([
            (Arc::from("success"), outcome),
            (Arc::from("status"), outcome),
            (Arc::from("data"), data),
            (Arc::from("error"), error),
            (Arc::from("tool"), nothing),
        ])
    }

    /// Returns the label of the success of a step: that of its condition, of what it reads, of the values that may make it fail, and of the tool,
    /// which decides whether it fails.
    fn outcome_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let Some((step, checked)) = scope.step(index) else {
            return self.store.nothing();
        };
        let skipped = self.skipped(scope, index);
        let mut read = vec![self.store.scalar(skipped)];
        if let Some(when) = &step.when {
            read.push(self.node(scope, Some(index), when));
        }
        // Nothing reads the outcome of a step whose failure ends the plan.
        if step.on_error != OnError::Fail {
            read.push(self.arguments_of(scope, index));
            if let Some(for_each) = &step.for_each {
                read.push(self.list_of(scope, index, for_each));
            }
            if let Some(repeat) = &step.repeat {
                read.push(self.node(scope, Some(index), &repeat.until));
            }
            let flags = self.failure_flags(checked);
            if flags != Flags::default() {
                let node = self.outcome_origin(scope, step, checked, "", flags);
                read.push(self.store.scalar(node));
            }
        }
        self.store.number_from(&read)
    }

    /// Returns the label of what decides whether a step is skipped, since a step that it reads has no output. It is complete once all
    /// steps are labelled.
    fn skipped(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> NodeId {
        let mut known = scope.known.borrow_mut();
        let skipped = known.skipped.entry(index);
        *skipped.or_insert_with(|| self.store.graph.open())
    }

    /// Adds what decides whether the step is skipped: whether the steps that it reads are skipped or fail.
    pub(super) fn add_skipping(&mut self, scope: &PlanScope<'a, '_>, index: u32, step: &'a Step) {
        let skipped = self.skipped(scope, index);
        let presence = self.presence(scope, index);
        self.store.graph.extend(skipped, presence);
        let mut producers = Vec::new();
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                reference.each_read(&mut |read| producers.extend(scope.plan.producers(read)));
            });
        });
        producers.sort_unstable();
        producers.dedup();
        for producer in producers.into_iter().filter(|producer| *producer != index) {
            let Some((step, checked)) = scope.step(producer) else {
                continue;
            };
            let before = self.skipped(scope, producer);
            self.store.graph.extend(skipped, before);
            let failures = scope.known.borrow().failures.get(producer);
            if let Some(failures) = failures {
                self.store.graph.extend(skipped, failures);
            }
            // A tool that ends the plan does not choose a value: otherwise each outcome would depend on all tools before.
            let flags = self.failure_flags(checked);
            if step.on_error != OnError::Fail && flags != Flags::default() {
                let outcome = self.outcome_origin(scope, step, checked, "", flags);
                self.store.graph.extend(skipped, outcome);
            }
        }
    }

    /// Returns the label of the error of a step. Its text may be a stranger's.
    pub(super) fn error_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let Some((step, checked)) = scope.step(index) else {
            return self.store.nothing();
        };
        let flags = Flags {
            untrusted: true,
            private: self.failure_flags(checked).private,
        };
        let node = self.outcome_origin(scope, step, checked, "error", flags);
        self.store.typed(&error_type(), node)
    }

    /// Adds the outcome of a step as the source of a value: its error, or all of it.
    fn outcome_origin(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: &Step,
        checked: &CheckedStep,
        field: &'static str,
        flags: Flags,
    ) -> NodeId {
        let tool = checked.tool.as_ref().map(|tool| tool.qualified_name());
        let origin = LabelOrigin::Output {
            step: scope.step_path(step),
            tool: tool.unwrap_or_default().into(),
            field: Arc::from(field),
            is_error: !field.is_empty(),
        };
        self.store.graph.origin(origin, flags)
    }

    /// Returns the labels of the fact that the step fails: those that the rules for whole outputs of its tool state, or of any
    /// tool in its plan.
    fn failure_flags(&mut self, checked: &'a CheckedStep) -> Flags {
        if let Some(tool) = &checked.tool {
            let id = self.store.tool(self.context.policy, tool);
            let outputs = self.store.tool_outputs(id);
            let mut flags = outputs.map_or(Flags::default(), |outputs| outputs.rules.whole());
            // The success of an extraction depends on its data, which are arguments.
            flags.untrusted &= !tool.is_extraction();
            return flags;
        }
        let Some(plan) = &checked.plan else {
            return Flags::default();
        };
        let key = std::ptr::from_ref(plan);
        if let Some(known) = self.failure_flags.get(&key) {
            return *known;
        }
        let mut flags = Flags::default();
        for step in plan.steps() {
            flags.add(self.failure_flags(step));
        }
        self.failure_flags.insert(key, flags);
        flags
    }
}

/// Returns true if the step computes a value in each round. The value of the last one remains.
fn computes_rounds(scope: &PlanScope<'_, '_>, index: u32) -> bool {
    scope.step(index).is_some_and(|(step, checked)| {
        let computes = match &step.action {
            Action::Value(_) => true,
            Action::Tool(_) => {
                let tool = checked.tool.as_ref();
                tool.is_some_and(|tool| tool.is_extraction())
            }
            // Its calls have the number of the round in any case; only its output is of the last one.
            Action::Plan(_) => false,
        };
        computes && step.repeat.is_some()
    })
}

/// Returns true if a step of the plan, or of a plan inside it, reads the outcome of a step, or tests whether it has an output.
pub(super) fn reads_outcomes(plan: &CheckedData) -> bool {
    let mut is_found = false;
    let mut look = |node: &Node| {
        node.each_reference(&mut |reference| {
            is_found |= tests_existence(&reference.form);
            reference.each_read(&mut |read| is_found |= matches!(read.source, Source::Result(_)));
        });
    };
    for step in &plan.plan().steps {
        step.each_node(&mut |node, _| look(node));
    }
    if let Output::Value(node) = &plan.plan().output {
        look(node);
    }
    let mut inner = plan.steps().iter().filter_map(|step| step.plan.as_ref());
    is_found || inner.any(|plan| reads_outcomes(plan.data()))
}
