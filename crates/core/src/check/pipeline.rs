//! The passes, one after the other, and the plan that holds against all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::{CheckedPlan, CheckedStep, Extent, Sound};
use super::context::CheckContext;
use super::dependencies::{Waits, waits};
use super::digest;
use super::passes::{
    arguments, cycles, inputs, limits, names, policy, positional, references, sharing, slots,
};
use super::reporter::{Findings, Found};
use super::resolved_plan::{Role, Survey};
use super::sub_plans::{Session, Surroundings, sub_plans};
use super::type_inference::Shapes;
use super::writers::{Writers, slot_keys};
use crate::plan::reference::Position;
use crate::plan::{Action, Alternative, Form, Node, Output, Read, Source};
use crate::{Diagnostics, Hashing, Lookup, Object, Plan, StepId, Tool};

/// Looks at `plan` together with `context` and gives every finding at once and, where none of them
/// is an error, the plan that an engine may run.
pub fn check(plan: Plan, context: &CheckContext<'_>) -> (Option<CheckedPlan>, Diagnostics) {
    let sources = plan.sources.clone();
    let mut session = Session::new(context, check_plan);
    let surroundings = Surroundings {
        sources: &sources,
        text: None,
        role: Role::Main,
    };
    let (checked, mut found) = check_plan(plan, surroundings, &mut session);
    found.sort();
    let diagnostics = found.finish();
    let checked = checked.map(|plan| plan.with_warnings(diagnostics.clone()));
    (checked, diagnostics)
}

impl CheckedPlan {
    /// This plan with the steps of `more` at its end. The old steps keep their positions, the new
    /// ones may refer to them, and all of it is checked again.
    ///
    /// What `more` says beside its steps is added: inputs, contents, slot schemas, texts. Its
    /// output replaces the old one unless it selects everything. Places of the new texts must not
    /// overlap with old ones (see [`Source::new`](crate::place::Source::new)).
    pub fn extend(
        &self,
        more: Plan,
        context: &CheckContext<'_>,
    ) -> (Option<CheckedPlan>, Diagnostics) {
        check(joined(self.plan().clone(), more), context)
    }
}

/// `plan` with what `more` says at its end.
fn joined(mut plan: Plan, more: Plan) -> Plan {
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

fn check_plan(
    mut plan: Plan,
    surroundings: Surroundings<'_>,
    session: &mut Session<'_>,
) -> (Option<CheckedPlan>, Found) {
    let context = session.context;
    let role = &surroundings.role;
    let mut findings = Findings::new(surroundings.sources, surroundings.text.clone());
    let limits = &context.policy.limits;
    if limits::size(&plan, limits, &mut session.patterns, &mut findings).is_break() {
        return (None, findings.finish());
    }
    positional::name(&mut plan, context.catalog, &mut findings);
    let ids = step_ids(&plan);
    resolve_step_indices(&mut plan, &ids);
    let writers = Writers::of(&plan.steps);
    let tools = tools(&plan, context);
    let sub_plans = sub_plans(&plan, &surroundings, session, &mut findings);
    let instances = match role {
        Role::Main => plan.instances.len().max(1),
        Role::Step { .. } => 1,
    };
    let extent = Extent::of(&plan, &sub_plans, instances);
    limits::extent(&plan, extent, limits, &mut findings);
    let waits = waits(&plan, &ids, &writers, &sub_plans);
    let nothing = Object::default();
    let given = if role.is_main() {
        context.given
    } else {
        &nothing
    };
    let survey = Survey {
        plan: &plan,
        context,
        role,
        ids: &ids,
        writers: &writers,
        tools: &tools,
        sub_plans: &sub_plans,
        waits: &waits,
        given,
    };
    let shapes = Shapes::new(&survey);
    names::check(&survey, &mut findings);
    cycles::check(&survey, &mut findings);
    references::check(&survey, &shapes, &mut findings);
    inputs::check(&survey, &mut findings);
    arguments::check(&survey, &shapes, &mut findings);
    sharing::check(&survey, &mut findings);
    policy::check(&survey, &mut findings);
    limits::check(&survey, &mut findings);
    slots::check(&survey, &shapes, &mut findings);
    drop(shapes);

    if findings.has_errors() {
        return (None, findings.finish());
    }
    let inputs = inputs::values(&plan, given);
    let digest = digest::digest(&plan, &sub_plans);
    let open_reads = open_reads(&plan, &writers, &sub_plans);
    let checked = CheckedPlan::new(Sound {
        steps: checked_steps(tools, sub_plans, waits),
        plan,
        ids,
        writers,
        digest,
        inputs,
        open_reads,
        extent,
    });
    (Some(checked), findings.finish())
}

/// The position of every id; of two steps with one id, the first.
fn step_ids(plan: &Plan) -> HashMap<StepId, u32, Hashing> {
    let mut ids = HashMap::with_capacity_and_hasher(plan.steps.len(), Hashing::default());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        ids.entry(step.id.clone()).or_insert(index);
    }
    ids
}

/// Tells the reads of `plan` the positions of `ids`. Those of expressions are shared with other plans, so they go by the
/// id; those of plans that stand in steps are told when these are checked.
fn resolve_step_indices(plan: &mut Plan, ids: &HashMap<StepId, u32, Hashing>) {
    let mut told = |read: &mut Read| {
        read.position = Position(match &read.source {
            Source::Step(id) | Source::Result(id) => ids.get(id).copied(),
            _ => None,
        });
    };
    let mut tell = |node: &mut Node| {
        node.each_reference_mut(&mut |reference| match &mut reference.form {
            Form::All(reads) => reads.iter_mut().for_each(&mut told),
            Form::First(alternatives) => {
                for alternative in alternatives {
                    if let Alternative::Read(read) = alternative {
                        told(read);
                    }
                }
            }
        });
    };
    for step in &mut plan.steps {
        step.nodes_mut().for_each(&mut tell);
    }
    if let Output::Value(node) = &mut plan.output {
        tell(node);
    }
}

fn tools(plan: &Plan, context: &CheckContext<'_>) -> Vec<Option<Arc<Tool>>> {
    plan.steps
        .iter()
        .map(|step| match context.catalog.find(&step.tool()?.text) {
            Lookup::Found(tool) => Some(tool),
            Lookup::Ambiguous(_) | Lookup::Unknown => None,
        })
        .collect()
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

/// The reads of slots that no step of the plan writes, those of shared sub-plans included.
fn open_reads(plan: &Plan, writers: &Writers, sub_plans: &[Option<CheckedPlan>]) -> Vec<Read> {
    let mut open = Vec::new();
    let mut consider = |read: &Read| {
        if let Source::Slot(kind) = read.source
            && writers.overlapping(kind, slot_keys(&read.path)).is_empty()
        {
            open.push(read.clone());
        }
    };
    for (step, sub_plan) in plan.steps.iter().zip(sub_plans) {
        step.each_node(&mut |node, _| {
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
