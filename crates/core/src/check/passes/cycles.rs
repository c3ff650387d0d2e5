//! The cycle pass: steps that wait for each other. Cycles are found without recursion, since plans may be arbitrarily long.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::check::checked_plan::DependencyKind;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::slot_writers::slot_keys;
use crate::plan::{Ordering, Source};
use crate::{Code, Hashing, Place, Severity, Step};

/// Maximum number of steps of a cycle that a message names.
const MAX_NAMED: usize = 30;

/// Maximum number of reported cycles.
const MAX_REPORTED: usize = 50;

pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    // In listed order, a reference to a later step is reported as such, not as a cycle.
    let is_listed = resolved.plan.ordering == Ordering::Listed;
    if is_listed {
        report_later_steps(resolved, reporter);
    }
    let edges = resolved
        .resolved_steps
        .iter()
        .map(|step| {
            step.dependencies
                .iter()
                .map(|dependency| dependency.on)
                // In listed order, dependencies on later steps were reported already; only those on the step itself remain.
                .filter(|on| if is_listed { *on == step.index } else { true })
                .collect()
        })
        .collect();
    let mut graph = DependencyGraph::new(edges);
    let mut reported = 0;
    loop {
        let components = graph.cyclic_components();
        if components.is_empty() || reported >= MAX_REPORTED {
            break;
        }
        for component in components {
            // A short cycle is easier to understand than the whole component.
            let starts = component.iter().take(MAX_STARTS);
            let cycles = starts.filter_map(|start| shortest_cycle(&graph, &component, *start));
            let Some(mut cycle) = cycles.min_by_key(Vec::len) else {
                continue;
            };
            let mistake = likely_mistake(resolved, &cycle);
            if let Some(at) = mistake {
                cycle.rotate_left(at);
            }
            report_cycle(resolved, &cycle, mistake.is_some(), reporter);
            reported += 1;
            // The rest of the component may contain further cycles.
            graph.remove(&cycle);
        }
    }
}

/// The edge of `cycle` that is probably unintended, by the position of its first step: a wait without data, or else the only read of a
/// step that is listed later.
fn likely_mistake(resolved: &ResolvedPlan<'_>, cycle: &[u32]) -> Option<usize> {
    let edge = |at: usize| Some((*cycle.get(at)?, *cycle.get((at + 1) % cycle.len())?));
    let is_order = |at: &usize| {
        let Some((from, on)) = edge(*at) else {
            return false;
        };
        let steps = resolved.step(from).zip(resolved.step(on));
        steps.is_some_and(|(step, on)| waits_only(step, on))
    };
    let is_later = |at: &usize| edge(*at).is_some_and(|(from, on)| on > from);
    let all = 0..cycle.len();
    let orders: Vec<usize> = all.clone().filter(is_order).collect();
    let mut later = all.filter(is_later);
    let only_later = later.next().filter(|_| later.next().is_none());
    let order = orders.iter().copied().find(is_later);
    order.or_else(|| orders.first().copied()).or(only_later)
}

/// Maximum number of steps of a component from which the shortest cycle is searched.
const MAX_STARTS: usize = 16;

/// Returns true if `step` names `on` in its `after`, and nowhere else.
fn waits_only(step: &Step, on: &Step) -> bool {
    let mut reads = false;
    step.each_node(&mut |node, _| {
        node.each_reference(&mut |reference| {
            let is_read = |source: &Source| {
                matches!(source, Source::Step(id) | Source::Result(id) if *id == on.id)
            };
            reads |= reference.reads().iter().any(|read| is_read(&read.source));
        });
    });
    !reads && step.after.iter().any(|name| *name.text == *on.id.as_str())
}

/// Reports dependencies on later steps in a plan with listed order. Reads of their outputs are reported by the
/// reference pass.
fn report_later_steps(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    for ((index, step), resolved_step) in resolved.steps().zip(resolved.resolved_steps) {
        let mut places = None;
        for dependency in &resolved_step.dependencies {
            let Some(other) = resolved
                .step(dependency.on)
                .filter(|_| dependency.on > index)
            else {
                continue;
            };
            let reads = match dependency.kind {
                DependencyKind::Slot => true,
                DependencyKind::Order => false,
                DependencyKind::Data | DependencyKind::Listed => continue,
            };
            if reporter.count_if_full(Severity::Error) {
                continue;
            }
            let (id, other) = (&step.id, &other.id);
            let message = if reads {
                format!("the step `{id}` reads a slot that the later step `{other}` writes")
            } else {
                format!("the step `{id}` comes after the later step `{other}`")
            };
            let help = format!("the steps run as they are listed: move `{other}` up");
            let places = places.get_or_insert_with(|| reference_places(resolved, step));
            let place = places.get(&dependency.on).copied();
            let place = place.unwrap_or(step.place);
            let diagnostic = reporter.error(Code::LaterStep, place, message).help(help);
            reporter.push(diagnostic);
        }
    }
}

fn report_cycle(
    resolved: &ResolvedPlan<'_>,
    cycle: &[u32],
    has_mistake: bool,
    reporter: &mut Reporter<'_>,
) {
    let Some((&first, rest)) = cycle.split_first() else {
        return;
    };
    let next = rest.first().copied().unwrap_or(first);
    let place = dependency_place(resolved, first, next);
    let message = if rest.is_empty() {
        format!("the step {} waits for itself", step_name(resolved, first))
    } else {
        let mut names: Vec<String> = cycle
            .iter()
            .take(MAX_NAMED)
            .map(|step| step_name(resolved, *step))
            .collect();
        if cycle.len() > MAX_NAMED {
            names.push(format!("{} more", cycle.len() - MAX_NAMED));
        }
        names.push(step_name(resolved, first));
        format!(
            "steps wait for each other in a cycle: {}",
            names.join(" → ")
        )
    };
    let help = if rest.is_empty() {
        let loops = |step: &Step| step.for_each.is_some();
        if resolved.step(first).is_some_and(loops) {
            "the item of the loop is `${item}`, or what `as` names".to_owned()
        } else {
            "remove its reference to itself".to_owned()
        }
    } else {
        let (from, on) = (step_name(resolved, first), step_name(resolved, next));
        let steps = resolved.step(first).zip(resolved.step(next));
        let advice = if steps.is_some_and(|(step, other)| waits_only(step, other)) {
            format!("remove {on} from the `after` of {from}")
        } else if has_mistake {
            format!("{on} is listed after {from}, which probably should not refer to it")
        } else {
            "remove one of these references".to_owned()
        };
        format!("{}: {advice}", edges(resolved, cycle, reporter))
    };
    let diagnostic = reporter.error(Code::Cycle, place, message).help(help);
    reporter.push(diagnostic);
}

/// Maximum number of edges of a cycle that a hint names with their places.
const MAX_EDGES: usize = 6;

/// The edges of `cycle` with their places, as one clause.
fn edges(resolved: &ResolvedPlan<'_>, cycle: &[u32], reporter: &Reporter<'_>) -> String {
    let following = cycle.iter().skip(1).chain(cycle.first());
    let edge = |(from, on): (&u32, &u32)| {
        let (step, other) = (step_name(resolved, *from), step_name(resolved, *on));
        let place = reporter.pointer(dependency_place(resolved, *from, *on));
        let place = place.map_or_else(String::new, |place| format!(" at `{place}`"));
        format!("{step} waits for {other}{place}")
    };
    let mut all: Vec<String> = cycle
        .iter()
        .zip(following)
        .take(MAX_EDGES)
        .map(edge)
        .collect();
    if cycle.len() > MAX_EDGES {
        all.push(format!("{} more", cycle.len() - MAX_EDGES));
    }
    all.join(", ")
}

fn step_name(resolved: &ResolvedPlan<'_>, step: u32) -> String {
    resolved
        .step(step)
        .map_or_else(String::new, |step| format!("`{}`", step.id))
}

/// Returns the place at which the step at `from` refers to the one at `on`.
fn dependency_place(resolved: &ResolvedPlan<'_>, from: u32, on: u32) -> Place {
    let Some(step) = resolved.step(from) else {
        return Place::NOWHERE;
    };
    let place = reference_places(resolved, step).get(&on).copied();
    place.unwrap_or(step.place)
}

/// Returns the first place at which `step` refers to each of its dependencies.
fn reference_places(resolved: &ResolvedPlan<'_>, step: &Step) -> HashMap<u32, Place, Hashing> {
    let mut places = HashMap::default();
    let mut visited = HashSet::new();
    step.each_node(&mut |node, _| {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                match &read.source {
                    Source::Step(id) | Source::Result(id) => {
                        if let Some(on) = resolved.ids.get(id) {
                            places.entry(*on).or_insert(reference.place);
                        }
                    }
                    Source::Slot(kind) => {
                        let overlap = resolved.writers.overlapping(*kind, slot_keys(&read.path));
                        for (_, steps) in overlap.lists().filter(|(list, _)| visited.insert(*list))
                        {
                            for on in steps {
                                places.entry(*on).or_insert(reference.place);
                            }
                        }
                    }
                    Source::Item | Source::Index | Source::Last | Source::ExternalValue(..) => {}
                }
            }
        });
    });
    for name in &step.after {
        if let Some(on) = resolved.ids.get(&*name.text) {
            places.entry(*on).or_insert(name.place);
        }
    }
    places
}

/// A graph of steps by position, with an edge to each dependency.
#[derive(Clone, Debug)]
pub(in crate::check) struct DependencyGraph {
    edges: Vec<Vec<u32>>,
    removed: Vec<bool>,
}

impl DependencyGraph {
    pub(in crate::check) fn new(edges: Vec<Vec<u32>>) -> Self {
        let removed = vec![false; edges.len()];
        Self { edges, removed }
    }

    /// Removes `steps` from the graph.
    pub(in crate::check) fn remove(&mut self, steps: &[u32]) {
        for step in steps {
            if let Some(removed) = self.removed.get_mut(*step as usize) {
                *removed = true;
            }
        }
    }

    fn next(&self, step: u32) -> impl Iterator<Item = u32> {
        let from = if self.is_removed(step) {
            None
        } else {
            self.edges.get(step as usize)
        };
        from.into_iter()
            .flatten()
            .copied()
            .filter(|next| !self.is_removed(*next))
    }

    fn is_removed(&self, step: u32) -> bool {
        self.removed.get(step as usize).copied().unwrap_or(true)
    }

    /// Returns the sets of steps that all depend on each other, each sorted, in the order of their first steps. Linear
    /// in the graph.
    ///
    /// Implements Tarjan's algorithm for strongly connected components (SIAM Journal on Computing 1, 1972) with an
    /// explicit stack.
    pub(in crate::check) fn cyclic_components(&self) -> Vec<Vec<u32>> {
        let mut search = TarjanSearch {
            numbers: vec![None; self.edges.len()],
            lowest: vec![0; self.edges.len()],
            on_stack: vec![false; self.edges.len()],
            stack: Vec::new(),
            counter: 0,
        };
        let mut found = Vec::new();
        for start in 0..u32::try_from(self.edges.len()).unwrap_or(u32::MAX) {
            if !self.is_removed(start) && search.number(start).is_none() {
                search.from(self, start, &mut found);
            }
        }
        found.retain(|set: &Vec<u32>| match set.as_slice() {
            // A single step is a cycle only if it depends on itself.
            [only] => self.next(*only).any(|next| next == *only),
            _ => true,
        });
        for set in &mut found {
            set.sort_unstable();
        }
        found.sort_unstable();
        found
    }
}

struct TarjanSearch {
    numbers: Vec<Option<u32>>,
    lowest: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    counter: u32,
}

impl TarjanSearch {
    fn number(&self, step: u32) -> Option<u32> {
        self.numbers.get(step as usize).copied().flatten()
    }

    fn lowest(&self, step: u32) -> u32 {
        self.lowest.get(step as usize).copied().unwrap_or(u32::MAX)
    }

    fn lower(&mut self, step: u32, bound: u32) {
        if let Some(lowest) = self.lowest.get_mut(step as usize) {
            *lowest = bound.min(*lowest);
        }
    }

    fn set_on_stack(&mut self, step: u32, value: bool) {
        if let Some(on_stack) = self.on_stack.get_mut(step as usize) {
            *on_stack = value;
        }
    }

    fn enter(&mut self, step: u32) {
        let index = step as usize;
        if let (Some(number), Some(lowest)) =
            (self.numbers.get_mut(index), self.lowest.get_mut(index))
        {
            *number = Some(self.counter);
            *lowest = self.counter;
        }
        self.counter += 1;
        self.stack.push(step);
        self.set_on_stack(step, true);
    }

    fn from(&mut self, graph: &DependencyGraph, start: u32, found: &mut Vec<Vec<u32>>) {
        self.enter(start);
        let mut path = vec![(start, graph.next(start).collect::<Vec<u32>>().into_iter())];
        while let Some((step, rest)) = path.last_mut() {
            let step = *step;
            if let Some(next) = rest.next() {
                match self.number(next) {
                    None => {
                        self.enter(next);
                        path.push((next, graph.next(next).collect::<Vec<u32>>().into_iter()));
                    }
                    Some(number) if self.on_stack.get(next as usize) == Some(&true) => {
                        self.lower(step, number);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let lowest = self.lowest(step);
            if let Some((before, _)) = path.last() {
                self.lower(*before, lowest);
            }
            // No step below reaches further up: the stack above is one component.
            if self.number(step) == Some(lowest) {
                let mut set = Vec::new();
                while let Some(member) = self.stack.pop() {
                    self.set_on_stack(member, false);
                    set.push(member);
                    if member == step {
                        break;
                    }
                }
                found.push(set);
            }
        }
    }
}

/// Returns the shortest cycle through the step `start` of `component`, by breadth-first search inside it. Each step waits
/// for the next, the last for the first.
pub(in crate::check) fn shortest_cycle(
    graph: &DependencyGraph,
    component: &[u32],
    start: u32,
) -> Option<Vec<u32>> {
    let mut came_from: HashMap<u32, u32> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(step) = open.pop_front() {
        for next in graph.next(step) {
            if next == start {
                let mut cycle = vec![step];
                let mut at = step;
                while at != start {
                    at = *came_from.get(&at)?;
                    cycle.push(at);
                }
                cycle.reverse();
                return Some(cycle);
            }
            // Steps outside the component cannot lead back.
            if component.binary_search(&next).is_ok() && !came_from.contains_key(&next) {
                came_from.insert(next, step);
                open.push_back(next);
            }
        }
    }
    None
}
