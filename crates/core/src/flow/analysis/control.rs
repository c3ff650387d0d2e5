//! The labels of the values that decide whether steps run, and whether they have an output.

use std::sync::Arc;

use super::slots::receives_error;
use super::{Analysis, PlanScope};
use crate::Step;
use crate::flow::graph::NodeId;
use crate::flow::labels::LabelsId;
use crate::plan::{Node, OnError, Output, Read, Segment, Source};

impl<'a> Analysis<'a> {
    /// Returns the label of everything that decides if and how often the step runs.
    pub(super) fn control(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        around: Option<NodeId>,
    ) -> Option<NodeId> {
        if !self.follows_control || around.is_none() && Self::is_undecided(scope, index, step) {
            return None;
        }
        let control = self.store.graph.open();
        if let Some(around) = around {
            self.store.graph.extend(control, around);
        }
        if let Some(for_each) = &step.for_each {
            let over = self.list_of(scope, index, for_each);
            let label = self.store.join(over);
            self.store.graph.extend(control, label);
        }
        let presence = self.presence(scope, index);
        if let Some(when) = &step.when {
            let labels = self.node(scope, Some(index), when);
            let label = self.store.join(labels);
            self.store.graph.extend(presence, label);
        }
        step.each_node(&mut |node, _| self.add_presence_of_reads(scope, node, presence));
        let dependencies = scope.step(index).map(|(_, checked)| &checked.dependencies);
        for dependency in dependencies.into_iter().flatten() {
            let failures = scope.known.borrow().failures.get(dependency.on);
            if let Some(failures) = failures {
                self.store.graph.extend(control, failures);
            }
        }
        self.store.graph.extend(control, presence);
        Some(control)
    }

    /// Returns true if nothing decides whether the step runs: it has no condition, and the steps that it reads are known, and run in
    /// any case. This is the usual case, which spares two labels for each step.
    fn is_undecided(scope: &PlanScope<'a, '_>, index: u32, step: &Step) -> bool {
        let is_plain = step.when.is_none()
            && step.for_each.is_none()
            && step.repeat.is_none()
            && step.on_error == OnError::Fail;
        let Some((_, checked)) = scope.step(index) else {
            return false;
        };
        let known = scope.known.borrow();
        is_plain
            && !scope.has_slots
            && checked.dependencies.iter().all(|dependency| {
                let on = dependency.on;
                known.outputs.get(on).is_some()
                    && known.presence.get(on).is_none()
                    && known.failures.get(on).is_none()
                    && scope.step(on).is_some_and(|(_, step)| step.plan.is_none())
            })
    }

    /// Returns the labels of the arguments of a step, or of the value that it computes, completed once the step is labelled.
    pub(super) fn arguments_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let mut known = scope.known.borrow_mut();
        known.arguments.get(index).unwrap_or_else(|| {
            let open = self.store.open_value();
            known.arguments.insert(index, open);
            open
        })
    }

    pub(super) fn set_arguments(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        labels: LabelsId,
    ) {
        if let (true, Some((step, _))) = (self.context.with_edges, scope.step(index)) {
            self.labelled_arguments
                .push((scope.step_path(step), labels));
        }
        let open = scope.known.borrow().arguments.get(index);
        self.complete(open, labels);
        scope.known.borrow_mut().arguments.insert(index, labels);
    }

    /// Adds the labels of `failing`, the values by which a step may fail. If the plan continues after a failure, they decide whether
    /// the step has an output; otherwise they decide whether later steps run.
    pub(super) fn add_failures(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        failing: Vec<LabelsId>,
    ) {
        if !self.follows_control {
            return;
        }
        if step.on_error != OnError::Fail {
            // The failure of a tool is an answer of that tool.
            let presence = self.presence(scope, index);
            for value in failing {
                let label = self.store.join(value);
                self.store.graph.extend(presence, label);
            }
            return;
        }
        let Some((_, checked)) = scope.step(index) else {
            return;
        };
        let known = scope.known.borrow();
        let before = checked.dependencies.iter();
        let before: Vec<_> = before
            .filter_map(|dependency| known.failures.get(dependency.on))
            .collect();
        drop(known);
        if failing.is_empty() && before.is_empty() {
            return;
        }
        let own = self.store.join_of(&failing);
        let own = self.store.join(own);
        let failures = self.store.graph.join(before.into_iter().chain([own]));
        scope.known.borrow_mut().failures.insert(index, failures);
    }

    /// Returns the label of the values that decide whether a step has an output: those in its condition, and those that decide
    /// whether its sources have one. It is complete once all steps are labelled.
    pub(super) fn presence(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> NodeId {
        let mut known = scope.known.borrow_mut();
        known.presence.get(index).unwrap_or_else(|| {
            let open = self.store.graph.open();
            known.presence.insert(index, open);
            open
        })
    }

    /// Adds to `presence` what decides whether the values exist that `node` reads.
    pub(super) fn add_presence_of_reads(
        &mut self,
        scope: &PlanScope<'a, '_>,
        node: &Node,
        presence: NodeId,
    ) {
        node.each_reference(&mut |reference| {
            reference.each_read(&mut |read| self.add_presence_of_read(scope, read, presence));
        });
    }

    pub(super) fn add_presence_of_read(
        &mut self,
        scope: &PlanScope<'a, '_>,
        read: &Read,
        presence: NodeId,
    ) {
        // The usual case, without a list of producers.
        if let Source::Step(id) = &read.source {
            if let Some(producer) = scope.plan.step_index(id.as_str()) {
                let part = match read.path.first() {
                    Some(Segment::Key(name)) => Some(name),
                    _ => None,
                };
                self.add_presence_of_part(scope, producer, part, presence);
            }
            return;
        }
        for producer in scope.plan.producers(read) {
            self.add_presence_of_part(scope, producer, None, presence);
            if receives_error(scope, producer, read) {
                let error = self.error_of(scope, producer);
                let error = self.store.join(error);
                self.store.graph.extend(presence, error);
            }
        }
        // An inner plan may read a slot of the plan around it.
        if let (Source::Slot(kind), Some((around, shared))) = (&read.source, scope.around)
            && shared.contains(kind)
        {
            self.add_presence_of_read(around, read, presence);
        }
    }

    /// Adds to `presence` the labels of the values that decide whether the step `producer` has an output, or the field `part` in
    /// it.
    pub(super) fn add_presence_of_part(
        &mut self,
        scope: &PlanScope<'a, '_>,
        producer: u32,
        part: Option<&Arc<str>>,
        presence: NodeId,
    ) {
        let of_producer = self.presence(scope, producer);
        self.store.graph.extend(presence, of_producer);
        if scope
            .step(producer)
            .is_none_or(|(_, step)| step.plan.is_none())
        {
            return;
        }
        let of_part = part.and_then(|name| {
            let key = (producer, Arc::clone(name));
            scope.known.borrow().presence_by_name.get(&key).copied()
        });
        let of_part = match of_part {
            Some(of_part) => of_part,
            None => self.presence_of_output(scope, producer),
        };
        self.store.graph.extend(presence, of_part);
    }

    /// Returns the label of the values that decide whether the parts of the output of an inner plan exist.
    pub(super) fn presence_of_output(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> NodeId {
        let mut known = scope.known.borrow_mut();
        *known
            .presence_of_outputs
            .entry(index)
            .or_insert_with(|| self.store.graph.open())
    }

    /// Adds what decides whether the parts of the output of the plan in the step `index` exist, of each that is the output of a
    /// step apart.
    pub(super) fn add_presence_of_output(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        inner: &PlanScope<'a, '_>,
    ) {
        let presence = self.presence_of_output(scope, index);
        let plan = inner.plan.plan();
        let shown: Vec<u32> = match &plan.output {
            Output::Value(node) => return self.add_presence_of_reads(inner, node, presence),
            Output::All => (0_u32..).zip(&plan.steps).map(|(index, _)| index).collect(),
            Output::Steps(names) => {
                let names = names.iter();
                names
                    .filter_map(|name| inner.plan.step_index(&name.text))
                    .collect()
            }
        };
        let is_list = scope
            .step(index)
            .is_some_and(|(step, _)| step.for_each.is_some());
        for part in shown {
            let Some((step, checked)) = inner.step(part) else {
                continue;
            };
            let mut of_step = self.presence(inner, part);
            if checked.plan.is_some() {
                let of_output = self.presence_of_output(inner, part);
                of_step = self.store.graph.join([of_step, of_output]);
            }
            self.store.graph.extend(presence, of_step);
            if !is_list {
                let key = (index, Arc::clone(step.id.text()));
                scope
                    .known
                    .borrow_mut()
                    .presence_by_name
                    .insert(key, of_step);
            }
        }
    }
}
