//! Who waits for whom: the edges of the plan's graph.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::checked::CheckedPlan;
use super::writers::{Writers, slot_keys};
use crate::Hashing;
use crate::plan::{Action, Form, Node, OnError, Ordering, Read, Reference, Source};
use crate::{Plan, Step, StepId};

/// One step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// The position of the step that is waited for.
    pub on: u32,
    /// Why.
    pub kind: DependencyKind,
    /// Whether it is waited for only when what stands before it turned out to be missing.
    pub optional: bool,
}

/// Why one step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DependencyKind {
    /// It reads its output, or what became of it.
    Data,
    /// It reads a slot that the other may write.
    Slot,
    /// Its author wants it to come after the other.
    Order,
    /// The plan's steps run in the order in which they are listed.
    Listed,
}

/// What each step of `plan` waits for, as far as can be told of a plan that was not checked: names that nothing is
/// called by are left out, and plans that steps run are not looked into.
pub fn dependencies(plan: &Plan) -> Vec<Vec<Dependency>> {
    let mut ids = HashMap::with_capacity_and_hasher(plan.steps.len(), Hashing::default());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        ids.entry(step.id.clone()).or_insert(index);
    }
    waits(plan, &ids, &Writers::of(&plan.steps), &[])
        .into_iter()
        .map(|waits| waits.dependencies)
        .collect()
}

/// What a step waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    pub(super) dependencies: Vec<Dependency>,
    pub(super) first: Vec<u32>,
}

/// What each step of `plan` waits for. `sub_plans` are the plans that the steps run, where they are known.
pub(super) fn waits(
    plan: &Plan,
    ids: &HashMap<StepId, u32, Hashing>,
    writers: &Writers,
    sub_plans: &[Option<CheckedPlan>],
) -> Vec<Waits> {
    let finder = Finder { plan, ids, writers };
    (0_u32..)
        .zip(&plan.steps)
        .map(|(index, step)| {
            let sub_plan = sub_plans.get(index as usize).and_then(Option::as_ref);
            finder.waits(index, step, sub_plan)
        })
        .collect()
}

/// Calls `visit` with every node of `step` that may hold references, and with whether the step may
/// refer to itself there.
pub(super) fn each_node<'a>(step: &'a Step, visit: &mut dyn FnMut(&'a Node, Reflexive)) {
    for argument in arguments(step) {
        visit(argument, Reflexive::No);
    }
    each_other_node(step, visit);
}

/// The nodes of `step` that hold what its action is given.
pub(super) fn arguments(step: &Step) -> impl Iterator<Item = &Node> {
    std::iter::once(&step.args).chain(&step.positional)
}

/// Calls `visit` as [`each_node`] does, but for the [`arguments`].
pub(super) fn each_other_node<'a>(step: &'a Step, visit: &mut dyn FnMut(&'a Node, Reflexive)) {
    if let Action::Value(value) = &step.action {
        visit(value, Reflexive::No);
    }
    if let Some(when) = &step.when {
        visit(when, Reflexive::No);
    }
    if let Some(for_each) = &step.for_each {
        visit(&for_each.over, Reflexive::No);
    }
    if let Some(repeat) = &step.repeat {
        visit(&repeat.until, Reflexive::Yes);
    }
    if let OnError::Output(output) = &step.on_error {
        visit(output, Reflexive::Yes);
    }
}

/// Whether a part of a step may refer to the step itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reflexive {
    No,
    Yes,
}

struct Finder<'a> {
    plan: &'a Plan,
    ids: &'a HashMap<StepId, u32, Hashing>,
    writers: &'a Writers,
}

impl Finder<'_> {
    fn waits(&self, index: u32, step: &Step, sub_plan: Option<&CheckedPlan>) -> Waits {
        let mut edges = Edges {
            index,
            found: BTreeMap::new(),
            met: HashSet::default(),
        };
        each_node(step, &mut |node, reflexive| {
            node.each_reference(&mut |reference| {
                self.add_reference(&mut edges, step, reference, reflexive);
            });
        });
        if let (Action::Plan(call), Some(sub_plan)) = (&step.action, sub_plan) {
            for kind in &call.scopes {
                for read in sub_plan.open_reads(*kind) {
                    self.add_read(&mut edges, step, read, false, Reflexive::Yes);
                }
            }
        }
        for name in &step.after {
            if let Some(on) = self.ids.get(&*name.text) {
                edges.add(*on, DependencyKind::Order, false, Reflexive::No);
            }
        }
        if self.plan.ordering == Ordering::Listed
            && let Some(before) = index.checked_sub(1)
        {
            edges.add(before, DependencyKind::Listed, false, Reflexive::No);
        }
        edges.finish()
    }

    fn add_reference(
        &self,
        edges: &mut Edges,
        step: &Step,
        reference: &Reference,
        reflexive: Reflexive,
    ) {
        match &reference.form {
            Form::All(reads) => {
                for read in reads {
                    self.add_read(edges, step, read, false, reflexive);
                }
            }
            Form::First(alternatives) => {
                for (position, alternative) in alternatives.iter().enumerate() {
                    for read in alternative.reads() {
                        self.add_read(edges, step, read, position > 0, reflexive);
                    }
                }
            }
        }
    }

    fn add_read(
        &self,
        edges: &mut Edges,
        step: &Step,
        read: &Read,
        optional: bool,
        reflexive: Reflexive,
    ) {
        match &read.source {
            Source::Step(id) | Source::Result(id) => {
                if let Some(on) = self.ids.get(id) {
                    edges.add(*on, DependencyKind::Data, optional, reflexive);
                }
            }
            Source::Slot(kind) => {
                let overlap = self.writers.overlapping(*kind, slot_keys(&read.path));
                for (number, steps) in overlap.lists() {
                    if !edges.met.insert((number, optional, reflexive)) {
                        continue;
                    }
                    for on in steps {
                        if !self.is_elsewhere(step, *on) {
                            edges.add(*on, DependencyKind::Slot, optional, reflexive);
                        }
                    }
                }
            }
            Source::Item | Source::Index | Source::Last | Source::Outside(..) => {}
        }
    }

    /// Whether `step` and the step at `on` run for different instances, whose slots are apart.
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

struct Edges {
    index: u32,
    found: BTreeMap<(u32, DependencyKind), bool>,
    /// The lists of writers that are among them, and how: a step may read a slot any number of times.
    met: HashSet<(usize, bool, Reflexive), Hashing>,
}

impl Edges {
    fn add(&mut self, on: u32, kind: DependencyKind, optional: bool, reflexive: Reflexive) {
        if on == self.index && reflexive == Reflexive::Yes {
            return;
        }
        self.found
            .entry((on, kind))
            .and_modify(|known| *known &= optional)
            .or_insert(optional);
    }

    fn finish(self) -> Waits {
        let mut first: Vec<u32> = self
            .found
            .iter()
            .filter(|((on, _), optional)| !**optional && *on != self.index)
            .map(|((on, _), _)| *on)
            .collect();
        first.dedup();
        Waits {
            dependencies: self
                .found
                .into_iter()
                .map(|((on, kind), optional)| Dependency { on, kind, optional })
                .collect(),
            first,
        }
    }
}
