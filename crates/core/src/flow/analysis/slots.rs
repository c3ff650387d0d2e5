//! The labels of slots: the join over all their writers.

use std::sync::Arc;

use super::{Analysis, PlanScope};
use crate::flow::graph::NodeId;
use crate::flow::labels::{LabelsId, is_position};
use crate::plan::{InputKind, Method, Read, Segment, SlotKind, SlotPath, Source, Targets};

/// The number of writers up to which a slot is always labelled by field.
const UNBUDGETED_WRITERS: usize = 32;

/// The budget of a plan for slots with more writers: the number of outputs, over all these slots, that are labelled by field.
pub(super) const MAX_WRITERS: usize = 20_000;

/// A summary of the writes to a slot and to its parts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotWrites {
    /// The largest number of keys of a writer's target.
    keys: usize,
    /// True if a writer makes a list of the content.
    makes_lists: bool,
    /// True if a writer replaces the content, or a part of it.
    replaces: bool,
    /// True if a key of a target is a number.
    has_numbers: bool,
}

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
        let is_whole =
            Self::is_ambiguous(scope, kind, path) || !self.reserve_writers(writers.len());
        let labels = if is_whole {
            self.whole_slot(scope, kind, path, &writers)
        } else {
            let mut values = self.initial(scope, kind, path);
            for writer in writers {
                self.written(scope, writer, kind, path, &mut values);
            }
            let content = self.store.any_of(&values);
            self.store.concatenated(content, &values)
        };
        scope.known.borrow_mut().slots.insert(key, labels);
        labels
    }

    /// Returns true if a slot with that many writers is labelled by field, and takes them from the budget.
    fn reserve_writers(&mut self, writers: usize) -> bool {
        if writers <= UNBUDGETED_WRITERS {
            return true;
        }
        match self.writers_left.checked_sub(writers) {
            Some(left) => {
                self.writers_left = left;
                true
            }
            None => false,
        }
    }

    /// Returns true if a position in `path` may select an object whose fields other writers set: the first `append` to a slot makes
    /// its previous value, with all fields, the first item of a list.
    fn is_ambiguous(scope: &PlanScope<'a, '_>, kind: SlotKind, path: &[Segment]) -> bool {
        let is_number =
            |segment: &Segment| matches!(segment, Segment::Key(key) if is_position(key));
        let mut segments = path.iter().skip(1);
        let first = segments.position(|segment| match segment {
            Segment::Index(_) | Segment::Each => true,
            Segment::Key(_) => is_number(segment),
        });
        let (Some(first), Some(Segment::Key(name))) = (first, path.first()) else {
            return false;
        };
        let writes = slot_writes(scope, kind, name);
        let has_numbers = writes.has_numbers || path.iter().any(is_number);
        // The name comes before the segments that were searched.
        writes.keys > first + 1 || (has_numbers && writes.makes_lists && writes.replaces)
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
        // The label is cached for all paths, so it includes the writers of other parts of the slot.
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
        for content in &plan.contents {
            if content.kind == kind {
                let content = self.store.literal(&content.value);
                values.push(self.store.at(content, path));
            }
        }
        if matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            if !scope.is_main {
                values.push(self.store.at(scope.inputs, path));
            }
            self.add_inputs(scope, kind, path, &mut values);
        }
        if let Some((around, shared)) = scope.around
            && shared.contains(&kind)
        {
            values.push(self.slot(around, kind, path));
        }
        values
    }

    /// Adds the labels of the inputs of the main plan, and of defaults.
    fn add_inputs(
        &mut self,
        scope: &PlanScope<'a, '_>,
        kind: SlotKind,
        path: &[Segment],
        values: &mut Vec<LabelsId>,
    ) {
        let mut is_declared = false;
        for input in &scope.plan.plan().inputs {
            let is_read = kind == SlotKind::Inputs || input.kind == InputKind::Variable;
            let is_selected = path
                .first()
                .is_none_or(|first| matches!(first, Segment::Key(key) if *key == input.name));
            if !is_read || !is_selected {
                continue;
            }
            is_declared |= !path.is_empty();
            // In the main plan, the values of the inputs are known. In an inner plan only the defaults are; the caller adds the arguments.
            let known = if scope.is_main {
                scope.plan.inputs().get(&*input.name)
            } else {
                input.default.as_ref()
            };
            let labels_of_input = match known {
                Some(value) => self.store.literal(value),
                None if scope.is_main => self.store.input(&input.schema),
                None => continue,
            };
            let named = self
                .store
                .object([(Arc::clone(&input.name), labels_of_input)]);
            values.push(self.store.at(named, path));
        }
        if scope.is_main && !is_declared {
            values.push(self.store.planner());
        }
    }

    /// Adds the labels of the values that `writer` may write to the part of a slot at `path`.
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
        let mut part = self.store.at(content, rest);
        // Other writers may add items before these, so the number of items decides which one the index selects.
        if method == Method::Concat && matches!(rest.first(), Some(Segment::Index(_))) {
            part = self.store.counted_from_end(part, content);
        }
        // The target may be a part of the value at `path`, so the written value is wrapped in the remaining keys.
        let inside = target.keys.get(common..).unwrap_or_default();
        let wrapped = inside.iter().rev().fold(part, |inner, key| {
            self.store.object([(Arc::clone(key), inner)])
        });
        values.push(wrapped);
    }
}

/// Returns how the slots below `name` are written.
fn slot_writes(scope: &PlanScope<'_, '_>, kind: SlotKind, name: &Arc<str>) -> SlotWrites {
    let key = (kind, Arc::clone(name));
    if let Some(known) = scope.known.borrow().slot_writes.get(&key) {
        return *known;
    }
    let path = vec![Segment::Key(Arc::clone(name))];
    let mut found = SlotWrites::default();
    for writer in scope.plan.producers(&Read::part(Source::Slot(kind), path)) {
        let Some(writes) = scope
            .step(writer)
            .and_then(|(step, _)| step.writes.as_ref())
        else {
            continue;
        };
        match writes.method {
            Method::Push | Method::Concat => found.makes_lists = true,
            Method::Set | Method::Merge | Method::Assign => found.replaces = true,
        }
        for target in writes.targets.paths() {
            if target.kind == kind && target.keys.first() == Some(name) {
                found.keys = found.keys.max(target.keys.len());
                let mut keys = target.keys.iter().skip(1);
                found.has_numbers |= keys.any(|key| is_position(key));
            }
        }
    }
    scope.known.borrow_mut().slot_writes.insert(key, found);
    found
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

/// Records that the step reads a slot; so do the steps that run its plan, if they share the slot with it.
pub(super) fn add_slot_read(scope: &PlanScope<'_, '_>, step: u32, kind: SlotKind, label: NodeId) {
    let mut known = scope.known.borrow_mut();
    known.slot_reads.entry(step).or_default().push(label);
    if let (Some((around, shared)), Some(outer)) = (scope.around, scope.around_step)
        && shared.contains(&kind)
    {
        add_slot_read(around, outer, kind, label);
    }
}
