//! The index of the steps that write each slot.

use std::collections::HashMap;
use std::sync::Arc;

use crate::plan::{Segment, SlotKind};
use crate::{Hashing, Step};

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
