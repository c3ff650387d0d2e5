//! The cycle pass: steps that wait for each other.

use std::collections::{HashMap, HashSet};

use super::graph::{DependencyGraph, shortest_cycle};
use crate::check::checked_plan::DependencyKind;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::writers::slot_keys;
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
        .dependencies
        .iter()
        .zip(0_u32..)
        .map(|(dependencies, step)| {
            dependencies
                .all
                .iter()
                .map(|dependency| dependency.on)
                // In listed order, dependencies on later steps were reported already; only those on the step itself remain.
                .filter(|on| if is_listed { *on == step } else { true })
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
            let Some(cycle) = shortest_cycle(&graph, &component) else {
                continue;
            };
            report_cycle(resolved, &cycle, reporter);
            reported += 1;
            // The rest of the component may contain further cycles.
            graph.remove(&cycle);
        }
    }
}

/// Reports dependencies on later steps in a plan with listed order. Reads of their outputs are reported by the
/// reference pass.
fn report_later_steps(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    for ((index, step), dependencies) in resolved.steps().zip(resolved.dependencies) {
        let mut places = None;
        for dependency in &dependencies.all {
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

fn report_cycle(resolved: &ResolvedPlan<'_>, cycle: &[u32], reporter: &mut Reporter<'_>) {
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
        "remove its reference to itself".to_owned()
    } else {
        format!(
            "here {} waits for {}: remove one of the references of the cycle",
            step_name(resolved, first),
            step_name(resolved, next)
        )
    };
    let diagnostic = reporter.error(Code::Cycle, place, message).help(help);
    reporter.push(diagnostic);
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
