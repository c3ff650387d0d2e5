//! Evaluation of a reply: extracts, parses, repairs and checks its plan, and prints it in our own dialect.

use std::collections::BTreeSet;

use planwright_core::plan::{Action, PlanCall, PlanTarget, SlotKind, Targets};
use planwright_core::{
    Catalog, CheckContext, CheckedPlan, Code, Diagnostic, Diagnostics, Lookup, Plan, Severity,
    Tool, Value, check,
};
use planwright_dialects::native::Native;
use planwright_dialects::native::PlanDialect;
use planwright_dialects::{Dialect, ParseResult, ReadOptions, parse_as};

use super::repair::{ExtractedPlan, PlanRepair, SOURCE_NAME};
use super::request::{CreatedPlan, PlanRequest};
use crate::model::{FinishReason, Reply};
use crate::prompt::{format_hint, slot_names};

/// Maximum number of repair rounds. A repaired name may reveal further errors.
const MAX_REPAIR_ROUNDS: usize = 4;

/// The evaluation of a reply.
#[derive(Debug, Default)]
pub(super) struct PlanEvaluation {
    pub(super) plan: Option<CreatedPlan>,
    pub(super) dialect: PlanDialect,
    /// The plan as the model wrote it; for lines, the repaired text that the diagnostics refer to.
    pub(super) plan_text: Option<String>,
    pub(super) diagnostics: Diagnostics,
    pub(super) repairs: Vec<PlanRepair>,
}

pub(super) fn evaluate(reply: &Reply, creation: &PlanRequest<'_>) -> PlanEvaluation {
    let max_bytes = creation.settings.max_reply_bytes;
    if reply.text.len() > max_bytes {
        let message = format!(
            "the reply has {} bytes, and at most {max_bytes} are allowed",
            reply.text.len()
        );
        let diagnostic = Diagnostic::error(Code::TooLarge, message);
        let diagnostic = diagnostic.help("write a smaller plan");
        return PlanEvaluation::rejected(creation.settings.dialect, diagnostic);
    }
    let dialect = creation.settings.dialect;
    let Some(found) = ExtractedPlan::find(&reply.text, dialect) else {
        let diagnostic = Diagnostic::error(Code::NotJson, "the reply contains no plan");
        return PlanEvaluation::rejected(dialect, diagnostic.help(format_hint(dialect)));
    };
    let mut text = found.unwrapped();
    let mut evaluation = PlanEvaluation {
        dialect: found.dialect,
        plan_text: Some(found.text),
        ..PlanEvaluation::default()
    };
    let mut valid = parse_and_check(&text, creation.check, &mut evaluation.diagnostics);
    for _ in 0..MAX_REPAIR_ROUNDS {
        let diagnostics = &evaluation.diagnostics;
        let Some((repaired, repairs)) = text.repaired(diagnostics, creation.check.catalog) else {
            break;
        };
        evaluation.repairs.extend(repairs);
        evaluation.diagnostics = Diagnostics::new();
        valid = parse_and_check(&repaired, creation.check, &mut evaluation.diagnostics);
        // The diagnostics have line numbers, which refer to the repaired lines.
        if repaired.dialect == PlanDialect::Lines {
            evaluation.plan_text = Some(repaired.text.clone());
        }
        text = repaired;
    }
    let mut context = creation.check;
    let stand_ins;
    if valid.is_none() && creation.settings.allows_unknown_tools {
        stand_ins = with_stand_ins(&text, context.catalog);
        context.catalog = &stand_ins;
        let mut found = Diagnostics::new();
        valid = parse_and_check(&text, context, &mut found);
        let unknown = std::mem::take(&mut evaluation.diagnostics);
        for mut diagnostic in unknown {
            if diagnostic.code == Code::UnknownTool {
                diagnostic.severity = Severity::Warning;
                found.push(diagnostic);
            }
        }
        evaluation.diagnostics = found;
    }
    // The missing part may have been a better plan, or the rest of this one.
    if reply.finish == FinishReason::Length {
        valid = None;
        let diagnostic = Diagnostic::error(Code::TooLarge, "the reply reached the maximum length");
        evaluation
            .diagnostics
            .push(diagnostic.help("write a smaller plan"));
    }
    if let Some((plan, checked)) = valid {
        evaluation
            .diagnostics
            .extend(unfilled_slots(&plan, creation.task.state));
        if !evaluation.diagnostics.has_errors() {
            let metadata = creation.origin.metadata(
                &plan.metadata,
                creation.task.goal,
                creation.model.name(),
                &checked,
            );
            let plan = Plan { metadata, ..plan };
            evaluation.plan = print_checked(&plan, context, &mut evaluation.diagnostics);
        }
    }
    evaluation
}

impl PlanEvaluation {
    fn rejected(dialect: PlanDialect, diagnostic: Diagnostic) -> Self {
        Self {
            dialect,
            diagnostics: Diagnostics::from_iter([diagnostic]),
            ..Self::default()
        }
    }
}

/// Repairs, checks and prints a plan that is still being written. Returns `None` if it has errors, which later text may resolve.
pub(crate) fn check_beginning(text: String, creation: &PlanRequest<'_>) -> Option<CreatedPlan> {
    let dialect = creation.settings.dialect;
    let mut text = ExtractedPlan { dialect, text };
    for _ in 0..=MAX_REPAIR_ROUNDS {
        let mut result = text.parse();
        result.plan = result.plan.map(|plan| plan.beginning(plan.steps.len()));
        let plan = result.plan.clone();
        let mut found = Diagnostics::new();
        if checked(result, creation.check, &mut found).is_some() {
            return print_checked(&plan?, creation.check, &mut found);
        }
        // A name that looks misspelt may refer to a step that is yet to come.
        let mut codes = found.iter().map(|diagnostic| diagnostic.code);
        if codes.any(|code| {
            matches!(
                code,
                Code::UnknownStep | Code::UnknownInput | Code::UnwrittenSlot
            )
        }) {
            return None;
        }
        text = text.repaired(&found, creation.check.catalog)?.0;
    }
    None
}

/// Returns `catalog` with a tool that takes and returns anything in place of each tool that the plan names and `catalog` does
/// not have.
fn with_stand_ins(text: &ExtractedPlan, catalog: &Catalog) -> Catalog {
    let mut catalog = catalog.clone();
    if let Some(plan) = text.parse().plan {
        add_stand_ins(&plan, &mut catalog);
    }
    catalog
}

fn add_stand_ins(plan: &Plan, catalog: &mut Catalog) {
    for step in &plan.steps {
        match &step.action {
            Action::Tool(name) if matches!(catalog.find(&name.text), Lookup::Unknown) => {
                let (server, tool) = name
                    .text
                    .split_once('.')
                    .unwrap_or(("unknown", &*name.text));
                catalog.add(Tool::new(server, tool));
            }
            Action::Plan(PlanCall {
                target: PlanTarget::Inline(plan),
                ..
            }) => add_stand_ins(plan, catalog),
            Action::Tool(_) | Action::Plan(_) | Action::Value(_) => {}
        }
    }
}

/// Parses and checks a plan. Returns it both as parsed and as checked.
fn parse_and_check(
    text: &ExtractedPlan,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<(Plan, CheckedPlan)> {
    let result = text.parse();
    let plan = result.plan.clone();
    let checked = checked(result, context, diagnostics);
    plan.zip(checked)
}

fn checked(
    result: ParseResult,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<CheckedPlan> {
    diagnostics.extend(result.diagnostics);
    let plan = result.plan.and_then(|plan| {
        let (checked, found) = check(plan, &context);
        diagnostics.extend(found);
        checked
    });
    // The parser and the checker report in different orders.
    diagnostics.sort();
    plan.filter(|_| !diagnostics.has_errors())
}

/// Prints the plan in our own dialect and checks the result again, since that is the plan that will run.
fn print_checked(
    plan: &Plan,
    context: CheckContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<CreatedPlan> {
    let (text, losses) = Native.print(plan);
    let Some(text) = text else {
        diagnostics.extend(losses);
        return None;
    };
    // Diagnostics about the model's own text are already collected.
    let mut found = Diagnostics::new();
    let result = parse_as(&Native, text.as_bytes(), &ReadOptions::new(SOURCE_NAME));
    let Some(checked) = checked(result, context, &mut found) else {
        diagnostics.extend(found);
        return None;
    };
    Some(CreatedPlan { text, checked })
}

/// Reports each required part of the state that no step writes.
fn unfilled_slots(plan: &Plan, state: Option<&Value>) -> Diagnostics {
    let Some(state) = state else {
        return Diagnostics::new();
    };
    let written = written_slots(plan);
    // Writing the whole state fills every part.
    if written.contains("") {
        return Diagnostics::new();
    }
    let required = required(state);
    let missing = required
        .iter()
        .filter(|name| !written.contains(name.as_str()));
    missing
        .map(|name| {
            let message = format!("no step fills `state.{name}`");
            let advice = format!("write \"writes\": \"state.{name}\" in the step that gives it");
            Diagnostic::error(Code::MissingField, message).help(advice)
        })
        .collect()
}

/// Returns the required parts of the state: the schema's `required` list, or else all properties.
fn required(state: &Value) -> Vec<String> {
    match state.get("required").and_then(Value::as_list) {
        Some(names) => names
            .iter()
            .filter_map(Value::as_text)
            .map(str::to_owned)
            .collect(),
        None => slot_names(state),
    }
}

/// Returns the parts of the state that have an initial value or are written by a step.
fn written_slots(plan: &Plan) -> BTreeSet<&str> {
    let steps = plan.steps.iter().filter_map(|step| step.writes.as_ref());
    let targets = steps.flat_map(|writes| match &writes.targets {
        Targets::All(slots) | Targets::OneOf(slots) => slots,
    });
    let slots = targets.filter(|slot| slot.kind == SlotKind::State);
    let contents = plan
        .contents
        .iter()
        .filter(|content| content.kind == SlotKind::State);
    let initial = contents
        .filter_map(|content| content.value.as_object())
        .flatten();
    slots
        .map(|slot| slot.keys.first().map_or("", |key| &**key))
        .chain(initial.map(|(name, _)| &**name))
        .collect()
}
