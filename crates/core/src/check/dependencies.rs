//! The dependencies between steps, and the index of the steps that write each slot.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::checked_plan::{CheckedPlan, Dependency, DependencyKind};
use crate::plan::{
    Action, Form, Ordering, Read, Reference, Segment, SelfReference, SlotKind, Source,
};
use crate::{Hashing, Plan, Step, StepId};

/// Returns the dependencies of each step of a plan that was not checked. Unknown names are ignored, and sub-plans are
/// not inspected.
pub fn dependencies(plan: &Plan) -> Vec<Vec<Dependency>> {
    let mut ids = HashMap::with_capacity_and_hasher(plan.steps.len(), Hashing::default());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        ids.entry(step.id.clone()).or_insert(index);
    }
    step_dependencies(plan, &ids, &SlotWriters::of(&plan.steps), &[])
        .into_iter()
        .map(|step| step.all)
        .collect()
}

/// The dependencies of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepDependencies {
    pub(super) all: Vec<Dependency>,
    pub(super) initial: Vec<u32>,
}

/// Computes the dependencies of each step of `plan`. `sub_plans` holds the checked plans that steps run, if known.
pub(super) fn step_dependencies(
    plan: &Plan,
    ids: &HashMap<StepId, u32, Hashing>,
    writers: &SlotWriters,
    sub_plans: &[Option<CheckedPlan>],
) -> Vec<StepDependencies> {
    let finder = DependencyFinder { plan, ids, writers };
    (0_u32..)
        .zip(&plan.steps)
        .map(|(index, step)| {
            let sub_plan = sub_plans.get(index as usize).and_then(Option::as_ref);
            finder.find(index, step, sub_plan)
        })
        .collect()
}

struct DependencyFinder<'a> {
    plan: &'a Plan,
    ids: &'a HashMap<StepId, u32, Hashing>,
    writers: &'a SlotWriters,
}

impl DependencyFinder<'_> {
    fn find(&self, index: u32, step: &Step, sub_plan: Option<&CheckedPlan>) -> StepDependencies {
        let mut edges = EdgeSet {
            index,
            found: BTreeMap::new(),
            visited: HashSet::default(),
        };
        step.each_node(&mut |node, self_reference| {
            node.each_reference(&mut |reference| {
                self.add_reference(&mut edges, step, reference, self_reference);
            });
        });
        if let (Action::Plan(call), Some(sub_plan)) = (&step.action, sub_plan) {
            for kind in &call.scopes {
                // A sub-plan with shared slots reads what its caller's steps write.
                for read in sub_plan.unwritten_slot_reads(*kind) {
                    self.add_read(&mut edges, step, read, false, SelfReference::Allowed);
                }
            }
        }
        for name in &step.after {
            if let Some(on) = self.ids.get(&*name.text) {
                edges.add(*on, DependencyKind::Order, false, SelfReference::Forbidden);
            }
        }
        // In listed order each step waits for the one before, and thus for all earlier ones.
        if self.plan.ordering == Ordering::Listed
            && let Some(before) = index.checked_sub(1)
        {
            edges.add(
                before,
                DependencyKind::Listed,
                false,
                SelfReference::Forbidden,
            );
        }
        edges.finish()
    }

    fn add_reference(
        &self,
        edges: &mut EdgeSet,
        step: &Step,
        reference: &Reference,
        self_reference: SelfReference,
    ) {
        match &reference.form {
            Form::All(reads) => {
                for read in reads {
                    self.add_read(edges, step, read, false, self_reference);
                }
            }
            Form::First(alternatives) => {
                for (position, alternative) in alternatives.iter().enumerate() {
                    alternative.each_read(&mut |read| {
                        self.add_read(edges, step, read, position > 0, self_reference);
                    });
                }
            }
        }
    }

    fn add_read(
        &self,
        edges: &mut EdgeSet,
        step: &Step,
        read: &Read,
        optional: bool,
        self_reference: SelfReference,
    ) {
        match &read.source {
            Source::Step(id) | Source::Result(id) => {
                if let Some(on) = self.ids.get(id) {
                    edges.add(*on, DependencyKind::Data, optional, self_reference);
                }
            }
            Source::Slot(kind) => {
                let overlap = self.writers.overlapping(*kind, slot_keys(&read.path));
                for (number, steps) in overlap.lists() {
                    // Without this test, many reads of slots with many writers would be quadratic.
                    if !edges.visited.insert((number, optional, self_reference)) {
                        continue;
                    }
                    for on in steps {
                        if !self.is_elsewhere(step, *on) {
                            edges.add(*on, DependencyKind::Slot, optional, self_reference);
                        }
                    }
                }
            }
            Source::Item | Source::Index | Source::Last | Source::ExternalValue(..) => {}
        }
    }

    /// Returns true if `step` and the step at `on` run for different instances, which have separate slots.
    fn is_elsewhere(&self, step: &Step, on: u32) -> bool {
        let other = self.plan.steps.get(on as usize);
        match (
            &step.instance,
            other.and_then(|other| other.instance.as_ref()),
        ) {
            (Some(own), Some(other)) => own != other,
            _ => false,
        }
    }
}

struct EdgeSet {
    index: u32,
    found: BTreeMap<(u32, DependencyKind), bool>,
    /// The lists of writers that were already added, and how: a step may read the same slot many times.
    visited: HashSet<(usize, bool, SelfReference), Hashing>,
}

impl EdgeSet {
    fn add(
        &mut self,
        on: u32,
        kind: DependencyKind,
        optional: bool,
        self_reference: SelfReference,
    ) {
        // A step that refers to itself where it may does not wait for itself.
        if on == self.index && self_reference == SelfReference::Allowed {
            return;
        }
        self.found
            .entry((on, kind))
            // One required read makes the dependency required.
            .and_modify(|known| *known &= optional)
            .or_insert(optional);
    }

    fn finish(self) -> StepDependencies {
        let mut initial: Vec<u32> = self
            .found
            .iter()
            .filter(|((on, _), optional)| !**optional && *on != self.index)
            .map(|((on, _), _)| *on)
            .collect();
        initial.dedup();
        StepDependencies {
            all: self
                .found
                .into_iter()
                .map(|((on, kind), optional)| Dependency { on, kind, optional })
                .collect(),
            initial,
        }
    }
}

/// The writers of all slots of a plan, as one tree of keys per kind.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotWriters {
    kinds: HashMap<SlotKind, usize>,
    /// The nodes of all trees; parents precede children.
    nodes: Vec<SlotNode>,
}

#[derive(Clone, Debug, Default)]
struct SlotNode {
    /// The steps that write the whole slot, by position.
    whole: Vec<u32>,
    /// For each of these steps, the position of its first target that is this slot.
    targets: Vec<usize>,
    /// The steps that write the slot or a part of it, by position.
    within: Vec<u32>,
    children: HashMap<Arc<str>, usize, Hashing>,
}

impl SlotWriters {
    /// Builds the index of `steps`.
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut writers = Self::default();
        for (index, step) in (0_u32..).zip(steps) {
            let targets = step.writes.iter().flat_map(|writes| writes.targets.paths());
            for (position, target) in targets.enumerate() {
                writers.add(index, position, target.kind, &target.keys);
            }
        }
        writers
    }

    fn add(&mut self, step: u32, target: usize, kind: SlotKind, keys: &[Arc<str>]) {
        let next = self.nodes.len();
        let mut at = *self.kinds.entry(kind).or_insert(next);
        let mut keys = keys.iter();
        loop {
            if at == self.nodes.len() {
                self.nodes.push(SlotNode::default());
            }
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else {
                return;
            };
            // A step may write several parts of the slot.
            if node.within.last() != Some(&step) {
                node.within.push(step);
            }
            let Some(key) = keys.next() else {
                if node.whole.last() != Some(&step) {
                    node.whole.push(step);
                    node.targets.push(target);
                }
                return;
            };
            at = *node.children.entry(Arc::clone(key)).or_insert(next);
        }
    }

    /// Returns the writers of the slot at `keys`, of its parts, and of the slots around it.
    pub(super) fn overlapping<'k>(
        &self,
        kind: SlotKind,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
    ) -> OverlappingWriters<'_> {
        let mut overlap = OverlappingWriters::default();
        let mut next = self.kinds.get(&kind).copied();
        let mut keys = keys.into_iter();
        while let Some(number) = next
            && let Some(node) = self.nodes.get(number)
        {
            overlap.path.push((number, node));
            let Some(key) = keys.next() else {
                overlap.is_complete = true;
                break;
            };
            next = node.children.get(key).copied();
        }
        overlap
    }
}

/// The writers that overlap with a slot. Slots share the lists, so that callers can skip lists they have seen.
#[derive(Default)]
pub(super) struct OverlappingWriters<'w> {
    /// The nodes on the path to the slot, outermost first, as far as they exist.
    path: Vec<(usize, &'w SlotNode)>,
    /// True if the last node is the slot itself.
    is_complete: bool,
}

impl<'w> OverlappingWriters<'w> {
    /// Returns the lists of writers, each sorted, with a number that identifies the list.
    pub(super) fn lists(&self) -> impl DoubleEndedIterator<Item = (usize, &'w [u32])> {
        let last = self.path.len().checked_sub(1).filter(|_| self.is_complete);
        let path = self.path.iter().enumerate();
        path.map(move |(depth, (number, node))| {
            if Some(depth) == last {
                // Only the last node counts with its parts; the others overlap as a whole.
                (number * 2 + 1, node.within.as_slice())
            } else {
                (number * 2, node.whole.as_slice())
            }
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lists().all(|(_, steps)| steps.is_empty())
    }

    /// Returns an upper bound of the number of writers.
    pub(super) fn max_count(&self) -> usize {
        self.lists().map(|(_, steps)| steps.len()).sum()
    }

    /// Returns all writers, by position.
    pub(super) fn steps(&self) -> Vec<u32> {
        self.before(u32::MAX)
    }

    /// Returns the writers before the step at `index`, by position.
    pub(super) fn before(&self, index: u32) -> Vec<u32> {
        let earlier = self.lists().flat_map(|(_, steps)| {
            // The lists are sorted by position.
            let end = steps.partition_point(|step| *step < index);
            steps.get(..end).unwrap_or_default()
        });
        let mut steps: Vec<u32> = earlier.copied().collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Returns the steps that write the whole slot or a slot around it: position, target, number of keys of the target.
    /// Sorted by position and target.
    pub(super) fn full_writers(&self) -> Vec<(u32, usize, usize)> {
        let mut full_writers = Vec::new();
        for (keys, (_, node)) in self.path.iter().enumerate() {
            let whole = node.whole.iter().zip(&node.targets);
            full_writers.extend(whole.map(|(step, target)| (*step, *target, keys)));
        }
        full_writers.sort_unstable();
        full_writers
    }
}

/// Returns the leading keys of `path`, which certainly name slots.
pub(super) fn slot_keys(path: &[Segment]) -> impl Iterator<Item = &Arc<str>> {
    path.iter().map_while(|segment| match segment {
        Segment::Key(key) => Some(key),
        // Slots are named by keys; the rest of the path leads into the value.
        Segment::Index(_) | Segment::Each => None,
    })
}
