//! Circles: steps that wait for each other, and so would wait for ever.

use std::collections::{HashMap, HashSet};

use super::graph::{Graph, shortest_cycle};
use crate::check::checked_plan::DependencyKind;
use crate::check::reporter::Findings;
use crate::check::resolved_plan::Survey;
use crate::check::writers::slot_keys;
use crate::plan::{Ordering, Source};
use crate::{Code, Hashing, Place, Severity, Step};

/// How many steps of one circle are named.
const MAX_NAMED: usize = 30;

/// How many circles are told.
const MAX_TOLD: usize = 50;

pub(in crate::check) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    // Where the order of the steps counts, a reference to a later step is a finding of its own.
    let listed = survey.plan.ordering == Ordering::Listed;
    if listed {
        later(survey, findings);
    }
    let edges = survey
        .waits
        .iter()
        .zip(0_u32..)
        .map(|(waits, step)| {
            waits
                .dependencies
                .iter()
                .map(|dependency| dependency.on)
                .filter(|on| if listed { *on == step } else { true })
                .collect()
        })
        .collect();
    let mut graph = Graph::new(edges);
    let mut told = 0;
    loop {
        let circles = graph.circles();
        if circles.is_empty() || told >= MAX_TOLD {
            break;
        }
        for circle in circles {
            let Some(cycle) = shortest_cycle(&graph, &circle) else {
                continue;
            };
            tell(survey, &cycle, findings);
            told += 1;
            // What is left of the knot may hold circles of its own.
            graph.remove(&cycle);
        }
    }
}

/// Where the order of the steps counts, none can wait for a later one. References to its output are
/// found where references are looked at.
fn later(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    for ((index, step), waits) in survey.steps().zip(survey.waits) {
        let mut mentioned = None;
        for dependency in &waits.dependencies {
            let Some(other) = survey.step(dependency.on).filter(|_| dependency.on > index) else {
                continue;
            };
            let reads = match dependency.kind {
                DependencyKind::Slot => true,
                DependencyKind::Order => false,
                DependencyKind::Data | DependencyKind::Listed => continue,
            };
            if findings.only_counts(Severity::Error) {
                continue;
            }
            let (id, other) = (&step.id, &other.id);
            let message = if reads {
                format!("the step `{id}` reads a slot that the later step `{other}` writes")
            } else {
                format!("the step `{id}` comes after the later step `{other}`")
            };
            let help = format!("the steps run as they are listed: move `{other}` up");
            let mentioned = mentioned.get_or_insert_with(|| mentions(survey, step));
            let place = mentioned.get(&dependency.on).copied();
            let place = place.unwrap_or(step.place);
            let finding = findings.error(Code::LaterStep, place, message).help(help);
            findings.push(finding);
        }
    }
}

fn tell(survey: &Survey<'_>, cycle: &[u32], findings: &mut Findings<'_>) {
    let Some((&first, rest)) = cycle.split_first() else {
        return;
    };
    let next = rest.first().copied().unwrap_or(first);
    let place = place_of(survey, first, next);
    let message = if rest.is_empty() {
        format!("the step {} waits for itself", name(survey, first))
    } else {
        let mut names: Vec<String> = cycle
            .iter()
            .take(MAX_NAMED)
            .map(|step| name(survey, *step))
            .collect();
        if cycle.len() > MAX_NAMED {
            names.push(format!("{} more", cycle.len() - MAX_NAMED));
        }
        names.push(name(survey, first));
        format!(
            "steps wait for each other in a circle: {}",
            names.join(" → ")
        )
    };
    let help = if rest.is_empty() {
        "take away what it says of itself here".to_owned()
    } else {
        format!(
            "here {} waits for {}: take away one of the references of the circle",
            name(survey, first),
            name(survey, next)
        )
    };
    let finding = findings.error(Code::Cycle, place, message).help(help);
    findings.push(finding);
}

fn name(survey: &Survey<'_>, step: u32) -> String {
    survey
        .step(step)
        .map_or_else(String::new, |step| format!("`{}`", step.id))
}

/// Where the step at `from` says that it waits for the one at `on`.
fn place_of(survey: &Survey<'_>, from: u32, on: u32) -> Place {
    let Some(step) = survey.step(from) else {
        return Place::NOWHERE;
    };
    let place = mentions(survey, step).get(&on).copied();
    place.unwrap_or(step.place)
}

/// Where the step first says that it waits for each of those that it waits for.
fn mentions(survey: &Survey<'_>, step: &Step) -> HashMap<u32, Place, Hashing> {
    let mut places = HashMap::default();
    let mut met = HashSet::new();
    step.each_node(&mut |node, _| {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                match &read.source {
                    Source::Step(id) | Source::Result(id) => {
                        if let Some(on) = survey.ids.get(id) {
                            places.entry(*on).or_insert(reference.place);
                        }
                    }
                    Source::Slot(kind) => {
                        let overlap = survey.writers.overlapping(*kind, slot_keys(&read.path));
                        for (_, steps) in overlap.lists().filter(|(list, _)| met.insert(*list)) {
                            for on in steps {
                                places.entry(*on).or_insert(reference.place);
                            }
                        }
                    }
                    Source::Item | Source::Index | Source::Last | Source::Outside(..) => {}
                }
            }
        });
    });
    for name in &step.after {
        if let Some(on) = survey.ids.get(&*name.text) {
            places.entry(*on).or_insert(name.place);
        }
    }
    places
}
