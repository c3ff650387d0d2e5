//! The check of undos: each is a call that knows the output and the arguments of the call that it undoes, and nothing else.

use std::collections::HashSet;
use std::sync::Arc;

use super::{arguments, names, policy, references};
use crate::check::pipeline::{resolve_steps, step_ids};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::check::slot_writers::SlotWriters;
use crate::check::type_inference::TypeInference;
use crate::plan::{Action, Node, OnError, OnFailure, PlanTarget, Undo};
use crate::{Code, ConfiguredUndo, Object, Place, Plan, Sources, Step, Tool};

/// The position of the undo in the plan that it is checked as.
const UNDO: u32 = 2;

/// Checks the undo of every step of `resolved`, and those that the configuration has for the tools of the other steps. Returns the tools that
/// undo steps by the plan, with the positions of these.
pub(in crate::check) fn check(
    resolved: &ResolvedPlan<'_>,
    reporter: &mut Reporter<'_>,
) -> Vec<(u32, Arc<Tool>)> {
    let mut undos = Vec::new();
    let mut configured = HashSet::new();
    for (index, step) in resolved.steps() {
        let Some(undo) = step.undo.as_deref() else {
            if let Some(tool) = resolved.tool(index)
                && let Some(undo) = &tool.undo
                && configured.insert((&*tool.server, &*tool.name))
            {
                check_configured(resolved, step, (tool, undo), reporter);
            }
            continue;
        };
        if step.tool().is_none() {
            let message = format!("the step `{}` has an undo and calls no tool", step.id);
            let diagnostic = reporter.error(Code::ConflictingFields, undo.tool.place, message);
            reporter.push(diagnostic.help("write `undo` into the steps that call tools"));
            continue;
        }
        let tool = check_undo(resolved, undo, resolved.tool(index), reporter);
        undos.extend(tool.map(|tool| (index, tool)));
    }
    undos
}

/// Checks the undo that the configuration has for `tool`, which `step` is the first to call. The diagnostics have the place of the call and name
/// the entry: no text of the plan has the undo.
fn check_configured(
    resolved: &ResolvedPlan<'_>,
    step: &Step,
    (tool, configured): (&Arc<Tool>, &ConfiguredUndo),
    reporter: &mut Reporter<'_>,
) {
    let sources = Sources::default();
    let mut of_entry = Reporter::new(&sources, None);
    check_undo(resolved, &configured.undo, Some(tool), &mut of_entry);
    let place = step.tool().map_or(step.place, |name| name.place);
    let name = tool.qualified_name();
    for found in of_entry.finish().finish() {
        let message = format!(
            "the undo of `{name}` in {}: {}",
            configured.set_in, found.message
        );
        let mut diagnostic = reporter.with_severity(found.severity, found.code, place, message);
        diagnostic.help = found.help;
        reporter.push(diagnostic);
    }
}

/// Checks that the failure of each inner plan that wants to be undone undoes the run: the calls of an inner plan are undone with all others.
pub(in crate::check) fn check_inner_plans(
    resolved: &ResolvedPlan<'_>,
    reporter: &mut Reporter<'_>,
) {
    for ((_, step), checked) in resolved.steps().zip(resolved.resolved_steps) {
        let Action::Plan(call) = &step.action else {
            continue;
        };
        let inner = checked.plan.as_ref().map(|inner| inner.plan().on_failure);
        if inner != Some(OnFailure::Revert) {
            continue;
        }
        let reason = match (resolved.plan.on_failure, &step.on_error) {
            (OnFailure::Revert, OnError::Fail) => continue,
            (OnFailure::Revert, OnError::Continue | OnError::Output(_)) => {
                "the step handles its failure, so nothing is undone"
            }
            (OnFailure::KeepGoing | OnFailure::Stop, _) => {
                "the plan around it does not, so nothing is undone"
            }
        };
        let place = match &call.target {
            PlanTarget::Named(name) => name.place,
            PlanTarget::Inline(plan) => plan.place,
        };
        let message = format!(
            "the plan that the step `{}` runs has `on_failure: revert`, but {reason}",
            step.id
        );
        let diagnostic = reporter.error(Code::ConflictingFields, place, message);
        let help = match &step.on_error {
            OnError::Fail => {
                "write `\"on_failure\": \"revert\"` into the plan around it as well, and so on up to the outermost one, which undoes the whole run"
            }
            OnError::Continue | OnError::Output(_) => {
                "remove the `on_error` of the step, or the `on_failure` of the inner plan"
            }
        };
        reporter.push(diagnostic.help(help));
    }
}

/// Checks `undo` as a plan of three steps: two that stand for the output and the arguments of the call of `undone`, and the undo itself.
/// So every pass over calls applies to it. Returns its tool.
fn check_undo(
    resolved: &ResolvedPlan<'_>,
    undo: &Undo,
    undone: Option<&Arc<Tool>>,
    reporter: &mut Reporter<'_>,
) -> Option<Arc<Tool>> {
    let mut plan = Plan {
        steps: vec![undo_step(undo)],
        sharing: resolved.plan.sharing,
        ..Plan::default()
    };
    let mut tools = names::resolve_tools(&mut plan, resolved.context.catalog, reporter);
    let known = [Undo::OUTPUT, Undo::ARGUMENTS].map(|id| Step::call(id, id, Node::default()));
    plan.steps.splice(0..0, known);
    tools.splice(0..0, known_tools(undone).map(Some));
    let ids = step_ids(&plan);
    let writers = SlotWriters::of(&plan.steps);
    let sub_plans = plan.steps.iter().map(|_| None).collect();
    let (steps, reads) = resolve_steps(&mut plan, &ids, &writers, sub_plans, tools);
    let inputs = Object::default();
    let alone = ResolvedPlan {
        plan: &plan,
        ids: &ids,
        writers: &writers,
        resolved_steps: &steps,
        inputs: &inputs,
        reads,
        is_undo: true,
        ..*resolved
    };
    let step = alone.step(UNDO)?;
    let types = TypeInference::new(&alone);
    ResolvedPlan::each_use_in_step(UNDO, step, &mut |usage| {
        references::check(&alone, &types, usage, reporter);
        references::check_expressions(&types, usage, reporter);
        policy::check_length(&alone, usage, reporter);
    });
    let mut malformed = HashSet::new();
    arguments::check(&alone, &types, (UNDO, step), &mut malformed, reporter);
    policy::check_tool(&alone, (UNDO, step), reporter);
    if reads.external_values {
        // A revert run would have to know values that no journal holds.
        let message = "an undo reads an external value";
        let diagnostic = reporter.error(Code::MisplacedExternalValue, step.args.place, message);
        reporter.push(diagnostic.help("it may read `output` and `arguments`"));
    }
    alone.tool(UNDO).map(Arc::clone)
}

fn undo_step(undo: &Undo) -> Step {
    let name = undo.tool.text.clone();
    let mut step = Step::call("undo", name, undo.args.clone());
    step.action = Action::Tool(undo.tool.clone());
    step.place = if undo.args.place == Place::NOWHERE {
        undo.tool.place
    } else {
        undo.args.place
    };
    step
}

/// Tools whose outputs have the types of the output and the arguments of a call of `undone`.
fn known_tools(undone: Option<&Arc<Tool>>) -> [Arc<Tool>; 2] {
    let output = undone.map_or_else(|| Tool::new("", Undo::OUTPUT), |tool| Tool::clone(tool));
    let mut arguments = Tool::new("", Undo::ARGUMENTS);
    if let Some(tool) = undone {
        arguments.output = tool.input.clone();
    }
    [Arc::new(output), Arc::new(arguments)]
}
