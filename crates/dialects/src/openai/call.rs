//! One call, in either of the two forms that the APIs write.

use std::sync::Arc;

use planwright_core::plan::{Action, Name, Node, Step};
use planwright_core::{Code, Diagnostic, StepId, Value};

use crate::document::{Fields, Item, quote};
use crate::lowering::{Literals, lower, object_or_text, text_or_number};
use crate::message::Reading;

/// Whether `item` is a call that this notation alone writes like this.
pub(super) fn is_call(item: &Item) -> bool {
    let named = item
        .get("function")
        .is_some_and(|function| function.has("name"));
    named || matches!(kind(item), Some("function_call" | "custom_tool_call"))
}

/// Whether `item` is a part of a message that is no call: text, reasoning, the call of a tool that the API ran itself.
pub(super) fn is_other(item: &Item) -> bool {
    let known = ["function", "function_call", "custom", "custom_tool_call"];
    !item.has("function") && kind(item).is_some_and(|kind| !known.contains(&kind))
}

/// The step that `item`, which stands at `position`, calls for.
pub(super) fn step(item: &Item, position: usize, reading: Reading<'_>) -> Option<Step> {
    let Reading {
        source,
        limits,
        findings,
    } = reading;
    if let Some(custom @ ("custom" | "custom_tool_call")) = kind(item) {
        let message = format!("a call of the kind {} takes free text", quote(custom));
        let finding = Diagnostic::error(Code::InvalidFieldValue, message);
        findings.push(
            item.place,
            finding.help("only calls of functions have arguments that a tool takes"),
        );
        return None;
    }
    if kind(item) == Some("function_call") && !is_complete(item) {
        let message = "the call was cut off: its `status` is not `completed`";
        let finding = Diagnostic::error(Code::InvalidFieldValue, message);
        findings.push(
            item.place,
            finding.help("let the model write the calls again"),
        );
    }
    let mut call = Fields::of(item, "the call", findings)?;
    let id = call.optional("call_id").or_else(|| call.optional("id"));
    let id = match id.map(|id| text_or_number(id, "id", findings)) {
        Some(id) => id?.text,
        None => format!("call_{}", position + 1).into(),
    };
    let mut function = match kind(item) {
        Some("function_call") => call,
        _ => Fields::of(
            call.required("function", findings)?,
            "the function",
            findings,
        )?,
    };
    let name = function.required_text("name", findings);
    let args = match function.optional("arguments") {
        Some(written) => object_or_text(written, "arguments", (source, limits), findings)
            .map(|object| lower(&object, &mut Literals)),
        None => None,
    };
    let args = args.unwrap_or_else(|| Node::literal(Value::empty_object(), item.place));
    let action = name.map_or(Action::Value(Node::default()), |(text, place)| {
        Action::Tool(Name {
            text: Arc::clone(text),
            place,
        })
    });
    let mut step = Step::new(StepId::new(id), action, args);
    step.place = item.place;
    Some(step)
}

fn kind(item: &Item) -> Option<&str> {
    item.get("type")?.as_text().map(|kind| &**kind)
}

fn is_complete(call: &Item) -> bool {
    let status = call.get("status").and_then(Item::as_text);
    status.is_none_or(|status| **status == *"completed")
}
