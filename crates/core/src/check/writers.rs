//! Which steps may write which slot, found by the keys of its path.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Step;
use crate::plan::{Segment, SlotKind};

/// All writers of a plan, as one tree of keys per kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Writers {
    kinds: HashMap<SlotKind, Branch>,
}

#[derive(Clone, Debug, Default)]
struct Branch {
    here: Vec<u32>,
    below: HashMap<Arc<str>, Branch>,
}

impl Writers {
    /// The writers among `steps`.
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut writers = Self::default();
        for (index, step) in (0_u32..).zip(steps) {
            let Some(writes) = &step.writes else { continue };
            for target in writes.targets.paths() {
                let mut branch = writers.kinds.entry(target.kind).or_default();
                for key in &target.keys {
                    branch = branch.below.entry(Arc::clone(key)).or_default();
                }
                if branch.here.last() != Some(&index) {
                    branch.here.push(index);
                }
            }
        }
        writers
    }

    /// The steps that may write the slot at `keys`, a part of it, or one around it, by position.
    pub(super) fn overlapping<'k>(
        &self,
        kind: SlotKind,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
    ) -> Vec<u32> {
        let Some(mut branch) = self.kinds.get(&kind) else {
            return Vec::new();
        };
        let mut found = branch.here.clone();
        let mut inside = true;
        for key in keys {
            let Some(next) = branch.below.get(key) else {
                inside = false;
                break;
            };
            branch = next;
            found.extend(&branch.here);
        }
        if inside {
            let mut open: Vec<&Branch> = branch.below.values().collect();
            while let Some(next) = open.pop() {
                found.extend(&next.here);
                open.extend(next.below.values());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The keys at the start of `path`: as far as it surely names slots.
pub(super) fn slot_keys(path: &[Segment]) -> impl Iterator<Item = &Arc<str>> {
    path.iter().map_while(|segment| match segment {
        Segment::Key(key) => Some(key),
        Segment::Index(_) | Segment::Each => None,
    })
}
