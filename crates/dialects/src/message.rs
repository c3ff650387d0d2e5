//! Messages of a model's API that hold calls of tools.

use planwright_core::plan::Step;
use planwright_core::{Diagnostics, Plan, Source, Sources};

use crate::document::{Document, Findings, Item, Limits};

/// What one call is read with.
pub(crate) struct Reading<'a> {
    pub(crate) source: &'a mut Source,
    pub(crate) limits: &'a Limits,
    pub(crate) findings: &'a mut Findings,
}

/// Reads the plan that the calls of a message are: `find` gives what may be calls, or nothing where it is no message, and `step` reads one
/// of them, at its position.
pub(crate) fn of_calls(
    document: Document,
    find: impl for<'a> FnOnce(&'a Item, &mut Findings) -> Option<Vec<&'a Item>>,
    step: impl Fn(&Item, usize, Reading<'_>) -> Option<Step>,
) -> (Option<Plan>, Diagnostics) {
    let mut findings = Findings::new();
    let mut source = document.source;
    let plan = find(&document.root, &mut findings).and_then(|calls| {
        let read = |(position, item): (usize, &&Item)| {
            let reading = Reading {
                source: &mut source,
                limits: &document.limits,
                findings: &mut findings,
            };
            step(item, position, reading)
        };
        let steps: Vec<Step> = calls.iter().enumerate().filter_map(read).collect();
        // Where no call at all could be read, the plan is not an empty one.
        (!steps.is_empty() || calls.is_empty()).then(|| Plan {
            steps,
            place: document.root.place,
            ..Plan::default()
        })
    });
    let diagnostics = findings.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}
