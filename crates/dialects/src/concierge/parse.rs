//! Lowers a Concierge plan.

use planwright_core::plan::{Node, OnFailure, Ordering, Sharing, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Plan, Sources, StepId, Value};

use super::reference::Marker;
use crate::document::{Document, Fields, Findings, Item, article};
use crate::lowering::{lower_fields, text_or_number, tool_action};

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut findings = Findings::new();
    let steps = steps(&document.root, &mut findings);
    let plan = steps.map(|steps| Plan {
        steps,
        ordering: Ordering::Listed,
        on_failure: OnFailure::Stop,
        sharing: Sharing::MarkedOnly,
        place: document.root.place,
        ..Plan::default()
    });
    let diagnostics = findings.finish(&document.source);
    let sources = Sources::one(document.source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn steps(root: &Item, findings: &mut Findings) -> Option<Vec<Step>> {
    let mut fields = Fields::of(root, "the plan", findings)?;
    let items = fields.required_list("steps", findings);
    fields.finish(findings);
    let items = items?;
    let steps: Vec<Step> = items
        .iter()
        .filter_map(|item| step(item, findings))
        .collect();
    // Where no step at all could be read, the plan is not an empty one.
    (!steps.is_empty() || items.is_empty()).then_some(steps)
}

fn step(item: &Item, findings: &mut Findings) -> Option<Step> {
    let mut fields = Fields::of(item, "the step", findings)?;
    let id = fields
        .required("id", findings)
        .and_then(|id| text_or_number(id, "id", findings));
    let action = tool_action(&mut fields, findings);
    let args = match fields.entry("args") {
        Some(entry) => args(&entry.item, findings),
        None => Node::literal(Value::empty_object(), item.place),
    };
    fields.finish(findings);
    let mut step = Step::new(StepId::new(id?.text), action, args);
    step.place = item.place;
    Some(step)
}

fn args(item: &Item, findings: &mut Findings) -> Node {
    let Some(entries) = item.as_object() else {
        let found = article(item.kind_word());
        let message = format!("expected an object in `args`, found {found}");
        let finding = Diagnostic::error(Code::WrongFieldType, message);
        let help = "leave `args` out where the tool takes no arguments";
        findings.push(item.place, finding.help(help));
        return Node::literal(Value::empty_object(), item.place);
    };
    if item.has(super::reference::KEY) {
        let message = "the arguments as a whole cannot be a reference";
        let finding = Diagnostic::error(Code::MalformedReference, message);
        let help = "put the reference into the argument that takes it";
        findings.push(item.place, finding.help(help));
        return Node::literal(Value::empty_object(), item.place);
    }
    lower_fields(item.place, entries, &mut Marker { findings })
}
