//! The dependencies between steps.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::checked_plan::{CheckedPlan, Dependency, DependencyKind};
use super::slot_writers::{SlotWriters, slot_keys};
use crate::plan::{Action, Form, Ordering, Read, Reference, SelfReference, Source};
use crate::{Hashing, Plan, Step, StepId};

/// Returns the dependencies of each step of a plan that was not checked. Unknown names are ignored, and sub-plans are
/// not inspected.
pub fn dependencies(plan: &Plan) -> Vec<Vec<Dependency>> {
    let mut ids = HashMap::with_capacity_and_hasher(plan.steps.len(), Hashing::default());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        ids.entry(step.id.clone()).or_insert(index);
    }
    let finder = DependencyFinder {
        plan,
        ids: &ids,
        writers: &SlotWriters::of(&plan.steps),
    };
    (0_u32..)
        .zip(&plan.steps)
        .map(|(index, step)| finder.find(index, step, None).all)
        .collect()
}

/// The dependencies of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepDependencies {
    pub(super) all: Vec<Dependency>,
    pub(super) initial: Vec<u32>,
}

/// Finds the dependencies of the steps of a plan.
pub(super) struct DependencyFinder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) ids: &'a HashMap<StepId, u32, Hashing>,
    pub(super) writers: &'a SlotWriters,
}

impl DependencyFinder<'_> {
    /// Returns the dependencies of the step at position `index`, which runs the checked plan `sub_plan`, if known.
    pub(super) fn find(
        &self,
        index: u32,
        step: &Step,
        sub_plan: Option<&CheckedPlan>,
    ) -> StepDependencies {
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
        // In listed order each step waits for the previous one, and thus for all earlier ones.
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
