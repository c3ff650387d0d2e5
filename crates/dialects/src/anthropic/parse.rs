//! Lowers the blocks of a message that call tools.

use std::sync::Arc;

use planwright_core::plan::{Action, Name, Node, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Plan, StepId, Value};

use crate::document::{Document, Fields, Findings, Item, quote};
use crate::lowering::{Literals, lower, text_or_number};
use crate::message::{Reading, of_calls};

/// Whether `item` is a block that calls a tool.
pub(super) fn is_call(item: &Item) -> bool {
    kind(item) == Some("tool_use")
}

/// Reads the calls.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    of_calls(document, blocks, step)
}

/// The blocks of `root` that may be calls: a list, a block, or a message.
fn blocks<'a>(root: &'a Item, findings: &mut Findings) -> Option<Vec<&'a Item>> {
    if is_call(root) {
        return Some(vec![root]);
    }
    let items = match root.as_list() {
        Some(items) => items,
        None => {
            report_cut_off(root, findings);
            Fields::of(root, "the message", findings)?.required_list("content", findings)?
        }
    };
    let is_other = |item: &Item| kind(item).is_some() && !is_call(item);
    Some(items.iter().filter(|item| !is_other(item)).collect())
}

fn report_cut_off(message: &Item, findings: &mut Findings) {
    let Some(reason) = message.get("stop_reason") else {
        return;
    };
    if let Some(word @ ("max_tokens" | "model_context_window_exceeded")) = text(reason) {
        let message = format!(
            "the message was cut off: its `stop_reason` is {}",
            quote(word)
        );
        let finding = Diagnostic::error(Code::InvalidFieldValue, message);
        findings.push(
            reason.place,
            finding.help("calls may be missing: let the model write it again, with more room"),
        );
    }
}

fn step(block: &Item, position: usize, reading: Reading<'_>) -> Option<Step> {
    let findings = reading.findings;
    let mut fields = Fields::of(block, "the block", findings)?;
    fields.required("type", findings)?;
    let id = match fields
        .optional("id")
        .map(|id| text_or_number(id, "id", findings))
    {
        Some(id) => id?.text,
        None => format!("call_{}", position + 1).into(),
    };
    let name = fields.required_text("name", findings);
    let args = match fields.object("input", findings) {
        Some(input) => lower(input, &mut Literals),
        None => Node::literal(Value::empty_object(), block.place),
    };
    let action = name.map_or(Action::Value(Node::default()), |(text, place)| {
        Action::Tool(Name {
            text: Arc::clone(text),
            place,
        })
    });
    let mut step = Step::new(StepId::new(id), action, args);
    step.place = block.place;
    Some(step)
}

fn kind(item: &Item) -> Option<&str> {
    text(item.get("type")?)
}

fn text(item: &Item) -> Option<&str> {
    item.as_text().map(|text| &**text)
}
