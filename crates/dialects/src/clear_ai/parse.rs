//! Lowers a clear-ai plan.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{Company, Name, Node, NodeKind, OnError, Retry, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Source, Sources, StepId, Value};

use super::reference::read;
use crate::document::{Document, Fields, Findings, Item, ItemKind, Limits};
use crate::lowering::{References, lower, lower_template, tool_action};

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut findings = Findings::new();
    let mut source = document.source;
    let plan = plan(&document.root, &mut source, &mut findings);
    let diagnostics = findings.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn plan(root: &Item, source: &mut Source, findings: &mut Findings) -> Option<Plan> {
    let mut fields = Fields::of(root, "the plan", findings)?;
    let items = fields.required_list("steps", findings);
    let metadata = fields.object("metadata", findings).map(Item::to_value);
    fields.finish(findings);
    let items = items?;
    let steps: Vec<Step> = items
        .iter()
        .enumerate()
        .filter_map(|(position, item)| step(item, position, source, findings))
        .collect();
    // Where no step at all could be read, the plan is not an empty one.
    if steps.is_empty() && !items.is_empty() {
        return None;
    }
    Some(Plan {
        steps,
        metadata: metadata.unwrap_or_default(),
        place: root.place,
        ..Plan::default()
    })
}

fn step(
    item: &Item,
    position: usize,
    source: &mut Source,
    findings: &mut Findings,
) -> Option<Step> {
    let mut fields = Fields::of(item, "the step", findings)?;
    let action = tool_action(&mut fields, findings);
    let args = match fields.required("params", findings) {
        Some(params) if params.as_object().is_some() => {
            lower(params, &mut Templates { source, findings })
        }
        other => {
            if let Some(params) = other {
                findings.wrong_type(params, "params", "an object");
            }
            Node::literal(Value::empty_object(), item.place)
        }
    };
    let mut step = Step::new(StepId::new(position.to_string()), action, args);
    step.place = item.place;
    let dependencies = fields.list("depends_on", findings).unwrap_or_default();
    step.after = dependencies
        .iter()
        .filter_map(|item| dependency(item, findings))
        .collect();
    if fields.boolean("parallel", findings) == Some(false) {
        step.company = Company::Alone;
    }
    if fields.boolean("optional", findings) == Some(true) {
        step.on_error = OnError::Continue;
    }
    let timeout = fields.count("timeout", findings);
    step.timeout = timeout.and_then(|timeout| duration(timeout, findings));
    let retries = fields.count("retry_count", findings);
    step.retry = retries.and_then(|retries| retry(retries, findings));
    fields.finish(findings);
    Some(step)
}

/// The step that is depended on. Whether there is one at that position is the business of the checks.
fn dependency(item: &Item, findings: &mut Findings) -> Option<Name> {
    let ItemKind::Number(number) = &item.kind else {
        findings.wrong_type(item, "depends_on", "the position of a step");
        return None;
    };
    if let Some(position) = number.as_u64() {
        let text: Arc<str> = position.to_string().into();
        return Some(Name {
            text,
            place: item.place,
        });
    }
    let message = format!("`{number}` is not the position of a step");
    let finding = Diagnostic::error(Code::InvalidFieldValue, message);
    findings.push(item.place, finding.help("steps are counted from 0"));
    None
}

fn duration((milliseconds, place): (u64, Place), findings: &mut Findings) -> Option<Duration> {
    let message = match Duration::from_millis(milliseconds) {
        Duration::ZERO => "a `timeout` of 0 leaves no time at all".to_owned(),
        time if time <= Limits::LONGEST_TIME => return Some(time),
        _ => format!("a `timeout` of {milliseconds} is too large"),
    };
    let finding = Diagnostic::error(Code::InvalidFieldValue, message);
    let help = "leave it out for no limit, or give milliseconds";
    findings.push(place, finding.help(help));
    None
}

fn retry((count, place): (u64, Place), findings: &mut Findings) -> Option<Retry> {
    let attempts = u32::try_from(count)
        .ok()
        .and_then(|count| NonZeroU32::MIN.checked_add(count));
    if attempts.is_none() {
        let message = format!("a `retry_count` of {count} is too large");
        findings.push(place, Diagnostic::error(Code::InvalidFieldValue, message));
    }
    Some(Retry {
        attempts: attempts?,
        delay: None,
    })
}

/// Reads the templates of one step.
struct Templates<'a> {
    source: &'a mut Source,
    findings: &'a mut Findings,
}

impl References for Templates<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let borders = (&mut *self.source, &mut *self.findings);
        lower_template(text, place, b"\"", borders, &mut read)
    }
}
