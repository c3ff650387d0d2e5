//! The passes, one after the other, and the plan that holds against all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked::{CheckedPlan, CheckedStep, Sound, producers};
use super::dependencies::{Waits, each_node, waits};
use super::writers::Writers;
use super::{CheckContext, digest};
use crate::plan::{Action, Output, PlanTarget, Read, Source};
use crate::{Diagnostics, Lookup, Object, Plan, StepId, Tool};

/// Looks at `plan` together with `context` and gives every finding at once and, where none of them
/// is an error, the plan that an engine may run.
pub fn check(plan: Plan, context: &CheckContext<'_>) -> (Option<CheckedPlan>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let checked = check_plan(plan, context, &Role::Main, &mut diagnostics);
    diagnostics.sort();
    (checked, diagnostics)
}

/// `plan` with what `more` says at its end.
pub(super) fn joined(mut plan: Plan, more: Plan) -> Plan {
    plan.inputs.extend(more.inputs);
    plan.contents.extend(more.contents);
    plan.slot_schemas.extend(more.slot_schemas);
    for instance in more.instances {
        if !plan.instances.contains(&instance) {
            plan.instances.push(instance);
        }
    }
    plan.steps.extend(more.steps);
    if more.output != Output::All {
        plan.output = more.output;
    }
    plan.sources.join(&more.sources);
    plan
}

/// What a plan is run as.
enum Role {
    Main,
    Step { depth: usize },
}

fn check_plan(
    plan: Plan,
    context: &CheckContext<'_>,
    role: &Role,
    diagnostics: &mut Diagnostics,
) -> Option<CheckedPlan> {
    let ids = step_ids(&plan);
    let writers = Writers::of(&plan.steps);
    let tools: Vec<Option<Arc<Tool>>> = plan
        .steps
        .iter()
        .map(|step| match context.catalog.find(&step.tool()?.text) {
            Lookup::Found(tool) => Some(tool),
            Lookup::Ambiguous(_) | Lookup::Unknown => None,
        })
        .collect();
    let depth = match role {
        Role::Main => 0,
        Role::Step { depth } => *depth,
    };
    let sub_plans: Vec<Option<CheckedPlan>> = plan
        .steps
        .iter()
        .map(|step| {
            let Action::Plan(call) = &step.action else {
                return None;
            };
            let target = match &call.target {
                PlanTarget::Inline(plan) => (**plan).clone(),
                PlanTarget::Named(name) => (**context.library.get(&name.text)?).clone(),
            };
            if depth >= context.policy.limits.max_depth {
                return None;
            }
            check_plan(
                target,
                context,
                &Role::Step { depth: depth + 1 },
                diagnostics,
            )
        })
        .collect();
    let waits = waits(&plan, &ids, &writers, &sub_plans);

    if diagnostics.has_errors() {
        return None;
    }
    let inputs = match role {
        Role::Main => input_values(&plan, context.given),
        Role::Step { .. } => input_values(&plan, &Object::new()),
    };
    let digest = digest::digest(&plan, &sub_plans);
    let open_reads = open_reads(&plan, &ids, &writers, &sub_plans);
    let steps = checked_steps(tools, sub_plans, waits);
    Some(CheckedPlan::new(Sound {
        plan,
        steps,
        ids,
        writers,
        digest,
        inputs,
        open_reads,
    }))
}

/// The position of every id; of two steps with one id, the first.
fn step_ids(plan: &Plan) -> HashMap<StepId, u32> {
    let mut ids = HashMap::with_capacity(plan.steps.len());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        ids.entry(step.id.clone()).or_insert(index);
    }
    ids
}

fn checked_steps(
    tools: Vec<Option<Arc<Tool>>>,
    sub_plans: Vec<Option<CheckedPlan>>,
    waits: Vec<Waits>,
) -> Vec<CheckedStep> {
    (0_u32..)
        .zip(tools.into_iter().zip(sub_plans).zip(waits))
        .map(|(index, ((tool, plan), waits))| CheckedStep {
            index,
            tool,
            plan,
            dependencies: waits.dependencies,
            first_waits: waits.first,
        })
        .collect()
}

/// The values of the inputs: what was given over the defaults, and what was given beside them.
fn input_values(plan: &Plan, given: &Object) -> Object {
    let mut values = Object::new();
    for input in &plan.inputs {
        if let Some(default) = &input.default {
            values.insert(Arc::clone(&input.name), default.clone());
        }
    }
    for (name, value) in given {
        values.insert(Arc::clone(name), value.clone());
    }
    values
}

/// The reads of slots that no step of the plan writes, those of shared sub-plans included.
fn open_reads(
    plan: &Plan,
    ids: &HashMap<StepId, u32>,
    writers: &Writers,
    sub_plans: &[Option<CheckedPlan>],
) -> Vec<Read> {
    let mut open = Vec::new();
    let mut consider = |read: &Read| {
        if matches!(read.source, Source::Slot(_)) && producers(ids, writers, read).is_empty() {
            open.push(read.clone());
        }
    };
    for (step, sub_plan) in plan.steps.iter().zip(sub_plans) {
        each_node(step, &mut |node, _| {
            node.each_reference(&mut |reference| {
                reference.reads().into_iter().for_each(&mut consider);
            });
        });
        if let (Action::Plan(call), Some(sub_plan)) = (&step.action, sub_plan) {
            for kind in &call.scopes {
                sub_plan.open_reads(*kind).for_each(&mut consider);
            }
        }
    }
    if let Output::Value(node) = &plan.output {
        node.each_reference(&mut |reference| {
            reference.reads().into_iter().for_each(&mut consider);
        });
    }
    open
}
