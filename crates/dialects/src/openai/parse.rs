//! Finds the calls in whatever they stand in, and lowers them.

use planwright_core::{Code, Diagnostic, Diagnostics, Plan};

use super::call::{is_call, is_other, step};
use crate::document::{Document, Fields, Findings, Item, quote};
use crate::message::of_calls;

/// Reads the calls.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    of_calls(document, calls, step)
}

/// The calls in `root`: a list, a call, a message, or a response.
fn calls<'a>(root: &'a Item, findings: &mut Findings) -> Option<Vec<&'a Item>> {
    if is_call(root) {
        return Some(vec![root]);
    }
    if let Some(items) = root.as_list() {
        return Some(without_others(items));
    }
    let mut fields = Fields::of(root, "the message", findings)?;
    if let Some(choices) = fields.list("choices", findings) {
        return chosen(choices, root, findings);
    }
    if let Some(output) = fields.list("output", findings) {
        report_cut_off(root, "status", "incomplete", findings);
        return Some(without_others(output));
    }
    if let Some(call) = fields.optional("function_call") {
        return Some(vec![call]);
    }
    let items = fields.required_list("tool_calls", findings)?;
    Some(items.iter().collect())
}

/// The calls in the message of the only choice.
fn chosen<'a>(
    choices: &'a [Item],
    root: &'a Item,
    findings: &mut Findings,
) -> Option<Vec<&'a Item>> {
    let [choice] = choices else {
        let message = format!("the response has {} choices", choices.len());
        let finding = Diagnostic::error(Code::ConflictingFields, message);
        let place = root.get("choices").map_or(root.place, |item| item.place);
        findings.push(
            place,
            finding.help("keep the one whose calls are to be made"),
        );
        return None;
    };
    report_cut_off(choice, "finish_reason", "length", findings);
    let mut fields = Fields::of(choice, "the choice", findings)?;
    let message = fields.required("message", findings)?;
    let mut message = Fields::of(message, "the message", findings)?;
    if let Some(call) = message.optional("function_call") {
        return Some(vec![call]);
    }
    let items = message.required_list("tool_calls", findings)?;
    Some(items.iter().collect())
}

/// What a list holds beside texts and the like.
fn without_others(items: &[Item]) -> Vec<&Item> {
    items.iter().filter(|item| !is_other(item)).collect()
}

fn report_cut_off(item: &Item, field: &str, word: &str, findings: &mut Findings) {
    let Some(found) = item.get(field) else {
        return;
    };
    if found.as_text().is_some_and(|text| **text == *word) {
        let message = format!("the message was cut off: its `{field}` is {}", quote(word));
        let finding = Diagnostic::error(Code::InvalidFieldValue, message);
        findings.push(
            found.place,
            finding.help("calls may be missing: let the model write it again, with more room"),
        );
    }
}
