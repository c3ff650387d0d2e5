//! The labels of slots: the join over all their writers.

use std::sync::Arc;

use super::{Analysis, PlanScope};
use crate::flow::graph::NodeId;
use crate::flow::labels::LabelsId;
use crate::plan::{InputKind, Method, Read, Segment, SlotKind, SlotPath, Source, Targets};

/// Maximum number of writers of a slot whose outputs are labelled by field.
const MAX_WRITERS: usize = 32;

impl<'a> Analysis<'a> {
    pub(super) fn slot(
        &mut self,
        scope: &PlanScope<'a, '_>,
        kind: SlotKind,
        path: &[Segment],
    ) -> LabelsId {
        let key = (kind, path.to_vec());
        if let Some(known) = scope.known.borrow().slots.get(&key) {
            return *known;
        }
        let writers = scope
            .plan
            .producers(&Read::part(Source::Slot(kind), path.to_vec()));
        let labels = if writers.len() > MAX_WRITERS {
            self.whole_slot(scope, kind, path, &writers)
        } else {
            let mut values = self.initial(scope, kind, path);
            for writer in writers {
                self.written(scope, writer, kind, path, &mut values);
            }
            self.store.any_of(values)
        };
        scope.known.borrow_mut().slots.insert(key, labels);
        labels
    }

    /// Returns one label for a slot with many writers.
    pub(super) fn whole_slot(
        &mut self,
        scope: &PlanScope<'a, '_>,
        kind: SlotKind,
        path: &[Segment],
        writers: &[u32],
    ) -> LabelsId {
        let name = path.first().and_then(|first| match first {
            Segment::Key(key) => Some(Arc::clone(key)),
            Segment::Index(_) | Segment::Each => None,
        });
        let key = (kind, name);
        if let Some(known) = scope.known.borrow().whole_slots.get(&key) {
            return *known;
        }
        let first = path.get(..1).unwrap_or_default().to_vec();
        let mut values = self.initial(scope, kind, &first);
        // Writers of other parts of the slot count as well, so that the label serves all paths.
        let all = scope.plan.producers(&Read::part(Source::Slot(kind), first));
        let writers = if all.is_empty() { writers } else { &all };
        for writer in writers {
            values.push(self.output_of(scope, *writer));
            let writes = scope
                .step(*writer)
                .and_then(|(step, _)| step.writes.as_ref());
            if writes.is_some_and(|writes| matches!(writes.targets, Targets::OneOf(_))) {
                values.push(self.error_of(scope, *writer));
            }
        }
        let labels = self.store.join_of(&values);
        scope.known.borrow_mut().whole_slots.insert(key, labels);
        labels
    }

    /// Returns the labels of the content of a slot before the first step.
    pub(super) fn initial(
        &mut self,
        scope: &PlanScope<'a, '_>,
        kind: SlotKind,
        path: &[Segment],
    ) -> Vec<LabelsId> {
        let plan = scope.plan.plan();
        let mut values = Vec::new();
        if plan.contents.iter().any(|content| content.kind == kind) {
            values.push(self.store.planner());
        }
        if matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            if !scope.is_main {
                values.push(self.store.at(scope.inputs, path));
            }
            // The default of an inner plan's input is part of the plan.
            let has_default = plan.inputs.iter().any(|input| {
                let is_read = kind == SlotKind::Inputs || input.kind == InputKind::Variable;
                let is_it = path
                    .first()
                    .is_none_or(|first| matches!(first, Segment::Key(key) if *key == input.name));
                is_read && is_it && input.default.is_some()
            });
            if scope.is_main || has_default {
                values.push(self.store.planner());
            }
        }
        if let Some((around, shared)) = scope.around
            && shared.contains(&kind)
        {
            values.push(self.slot(around, kind, path));
        }
        values
    }

    /// Adds the labels of what `writer` may write to the part of a slot at `path`.
    pub(super) fn written(
        &mut self,
        scope: &PlanScope<'a, '_>,
        writer: u32,
        kind: SlotKind,
        path: &[Segment],
        values: &mut Vec<LabelsId>,
    ) {
        let Some((step, _)) = scope.step(writer) else {
            return;
        };
        let Some(writes) = &step.writes else {
            return;
        };
        let targets = writes.targets.paths();
        for (position, target) in targets.iter().enumerate() {
            if target.kind != kind {
                continue;
            }
            let is_last = position + 1 == targets.len();
            let output = self.output_of(scope, writer);
            self.add_written(output, target, writes.method, path, values);
            // The last of several targets receives the error instead.
            if is_last && matches!(writes.targets, Targets::OneOf(_)) {
                let error = self.error_of(scope, writer);
                self.add_written(error, target, Method::Set, path, values);
            }
        }
    }

    pub(super) fn add_written(
        &mut self,
        written: LabelsId,
        target: &SlotPath,
        method: Method,
        path: &[Segment],
        values: &mut Vec<LabelsId>,
    ) {
        let common = target.keys.len().min(path.len());
        let is_overlap = target
            .keys
            .iter()
            .zip(path)
            .all(|(key, segment)| match segment {
                Segment::Key(other) => key == other,
                Segment::Index(_) | Segment::Each => true,
            });
        if !is_overlap {
            return;
        }
        let content = match method {
            Method::Set | Method::Merge | Method::Assign | Method::Concat => written,
            Method::Push => self.store.list(written),
        };
        let rest = path.get(common..).unwrap_or_default();
        let part = self.store.at(content, rest);
        // The slot is inside what is read.
        let inside = target.keys.get(common..).unwrap_or_default();
        let wrapped = inside.iter().rev().fold(part, |inner, key| {
            self.store.object([(Arc::clone(key), inner)])
        });
        values.push(wrapped);
    }
}

/// Returns true if `read` may read the error of `writer`, which exists only if the call failed.
pub(super) fn receives_error(scope: &PlanScope<'_, '_>, writer: u32, read: &Read) -> bool {
    let step = scope.step(writer);
    let writes = step.and_then(|(step, _)| step.writes.as_ref());
    let Some(Targets::OneOf(targets)) = writes.map(|writes| &writes.targets) else {
        return false;
    };
    targets.last().is_some_and(|target| {
        let mut common = target.keys.iter().zip(&read.path);
        read.source == Source::Slot(target.kind)
            && common.all(|(key, segment)| !matches!(segment, Segment::Key(other) if other != key))
    })
}

/// Adds a read of a slot to the step, and to the steps around its plan that share the slot with it.
pub(super) fn add_slot_read(scope: &PlanScope<'_, '_>, step: u32, kind: SlotKind, label: NodeId) {
    let mut known = scope.known.borrow_mut();
    known.slot_reads.entry(step).or_default().push(label);
    if let (Some((around, shared)), Some(outer)) = (scope.around, scope.positions.last())
        && shared.contains(&kind)
    {
        add_slot_read(around, *outer, kind, label);
    }
}
