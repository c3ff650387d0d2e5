//! The order of steps that no data determines: calls that change something stay in the recorded order.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Action, Name, Node, PlanTarget, Source, Step};
use planwright_core::{Catalog, Place, ServerName, StepId};

use crate::trace::find_tool;

/// Returns the steps with the order that their effects require: a call that changes something comes after all earlier ones of its server
/// and after all earlier changes, and a call that reads comes after the earlier changes of its server. A call that is repeated with the same
/// arguments comes after the earlier one, whose answer may be another one.
pub(super) fn ordered(mut steps: Vec<Step>, catalog: &Catalog) -> Vec<Step> {
    let effects: Vec<Effects> = steps.iter().map(|step| effects_of(step, catalog)).collect();
    let calls: Vec<_> = steps
        .iter()
        .map(|step| {
            (
                step.tool().map(|name| Arc::clone(&name.text)),
                step.args.clone(),
            )
        })
        .collect();
    let ids: Vec<StepId> = steps.iter().map(|step| step.id.clone()).collect();
    // The positions of all steps that each step waits for, directly or not.
    let mut before: Vec<HashSet<usize>> = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter_mut().enumerate() {
        let position = |id: &StepId| ids.iter().position(|other| other == id);
        let mut waits: HashSet<usize> = HashSet::new();
        for source in sources(step).iter().filter_map(position) {
            waits.insert(source);
            waits.extend(before.get(source).into_iter().flatten());
        }
        let Some(own) = effects.get(index) else {
            continue;
        };
        // The nearest ones first, since they wait for those before them.
        for (earlier, other) in effects.iter().enumerate().take(index).rev() {
            // A tool without a known server may be of any.
            let is_unknown = own.server.is_none() || other.server.is_none();
            let same_server = is_unknown || own.server == other.server;
            let is_ordered = (own.changes && other.changes)
                || ((own.changes || other.changes) && same_server)
                || calls.get(earlier) == calls.get(index);
            if is_ordered && !waits.contains(&earlier) {
                if let Some(id) = ids.get(earlier) {
                    step.after.push(Name {
                        text: Arc::clone(id.text()),
                        place: Place::NOWHERE,
                    });
                }
                waits.insert(earlier);
                waits.extend(before.get(earlier).into_iter().flatten());
            }
        }
        step.after.reverse();
        if own.changes
            && let Some(for_each) = &mut step.for_each
        {
            for_each.max_parallel = Some(std::num::NonZeroU32::MIN);
        }
        before.push(waits);
    }
    steps
}

struct Effects {
    changes: bool,
    server: Option<ServerName>,
}

/// Returns the effects of a step: of its tool, or of all tools of its inner plan.
fn effects_of(step: &Step, catalog: &Catalog) -> Effects {
    if let Action::Plan(call) = &step.action
        && let PlanTarget::Inline(plan) = &call.target
    {
        let mut inner = plan.steps.iter().map(|step| effects_of(step, catalog));
        let Some(first) = inner.next() else {
            return Effects {
                changes: false,
                server: None,
            };
        };
        return inner.fold(first, |all, one| Effects {
            changes: all.changes || one.changes,
            server: all
                .server
                .filter(|server| Some(server) == one.server.as_ref()),
        });
    }
    let tool = step.tool().and_then(|name| find_tool(catalog, &name.text));
    Effects {
        changes: !tool.as_ref().is_some_and(|tool| tool.merely_reads()),
        server: tool.map(|tool| tool.server.clone()),
    }
}

/// Returns the steps whose data a step reads.
fn sources(step: &Step) -> Vec<StepId> {
    let for_each = step.for_each.as_ref().map(|for_each| &for_each.over);
    let nodes = std::iter::once(&step.args)
        .chain(step.when.as_ref())
        .chain(for_each);
    let mut found = Vec::new();
    for node in nodes {
        Node::each_reference(node, &mut |reference| {
            for read in reference.reads() {
                if let Source::Step(id) = &read.source {
                    found.push(id.clone());
                }
            }
        });
    }
    found
}
