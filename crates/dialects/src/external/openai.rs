//! The dialect of OpenAI's APIs for the tool calls of a message.
//!
//! ```json
//! {"role": "assistant", "content": null, "tool_calls": [
//!   {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}},
//!   {"id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}}
//! ]}
//! ```
//!
//! - The plan is the list of calls, the message, a chat completion with that message as its only choice, a response
//!   with items `{"type": "function_call", "call_id", "name", "arguments"}` in its `output`, or the list of those
//!   items. Other fields and items (texts, reasoning, usage) are ignored, because the APIs add new ones over time.
//! - `arguments` is the JSON text of an object, whose diagnostics have places as well; blank text stands for no
//!   arguments, an object for itself.
//! - A step's id is that of its call. All calls of a message are independent of each other, and there are no
//!   references: every text is literal.
//! - A message that was cut off by a limit is an error, since calls may be missing; so is a call of a custom tool,
//!   which takes a text instead of arguments.

use planwright_core::plan::{Node, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Plan, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item, quote};
use crate::foreign_references::ReferenceForm;
use crate::lowering::{
    LoweringContext, NoReferences, call_id, lower, object_or_json_text, parse_calls,
    report_cut_off, tool_action, unreadable,
};

/// The tool calls of a message, as OpenAI's APIs write them.
#[derive(Clone, Copy, Debug)]
pub struct OpenAi;

impl Dialect for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn shape(&self) -> &'static str {
        "`{\"tool_calls\": [{\"id\", \"type\", \"function\": {\"name\", \"arguments\"}}]}`, also inside of a response"
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let root = &document.root;
        let has_call = is_call(root) || document.any_item(&["tool_calls", "output"], is_call);
        // `choices` alone identifies a chat completion, even one without calls; plans of other dialects have `steps`.
        let is_response = root.has("choices") && !root.has("steps");
        MatchConfidence::certain_if(is_response || root.has("function_call") || has_call)
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm::NONE)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }
}

/// Returns true if `item` is a call in a form that only this dialect has.
pub(super) fn is_call(item: &Item) -> bool {
    let named = item
        .get("function")
        .is_some_and(|function| function.has("name"));
    named || matches!(kind(item), Some("function_call" | "custom_tool_call"))
}

/// Returns true if `item` is not a call: text, reasoning, or the call of a tool that the API ran itself.
pub(super) fn is_other(item: &Item) -> bool {
    let known = ["function", "function_call", "custom", "custom_tool_call"];
    !item.has("function") && kind(item).is_some_and(|kind| !known.contains(&kind))
}

/// Lowers the call `item` at `position` to a step.
pub(super) fn step(item: &Item, position: usize, context: LoweringContext<'_>) -> Option<Step> {
    let LoweringContext {
        source,
        limits,
        sink,
    } = context;
    if let Some(custom @ ("custom" | "custom_tool_call")) = kind(item) {
        let message = format!("a call of the kind {} takes free text", quote(custom));
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        sink.push(
            item.place,
            diagnostic.help("only calls of functions have arguments that a tool takes"),
        );
        return None;
    }
    if kind(item) == Some("function_call") && !is_complete(item) {
        let message = "the call was cut off: its `status` is not `completed`";
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        sink.push(
            item.place,
            diagnostic.help("let the model write the calls again"),
        );
    }
    let mut call = Fields::of(item, "the call", sink)?;
    let id = call.optional("call_id").or_else(|| call.optional("id"));
    let id = call_id(id, position, sink)?;
    let mut function = match kind(item) {
        Some("function_call") => call,
        // `function_call` of older versions is the function itself.
        None if item.has("name") => call,
        _ => Fields::of(call.required("function", sink)?, "the function", sink)?,
    };
    let action = tool_action(&mut function, "name", sink);
    let args = match function.optional("arguments") {
        Some(written) => match object_or_json_text(written, "arguments", (source, limits), sink) {
            Some(object) => lower(&object, &mut NoReferences),
            None => unreadable(written.place),
        },
        None => Node::literal(Value::empty_object(), item.place),
    };
    let mut step = Step::new(id, action, args);
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

/// Reads the calls of a message or a response.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    parse_calls(document, calls, step)
}

/// The calls in `root`: a list, a call, a message, or a response.
fn calls<'a>(root: &'a Item, sink: &mut DiagnosticSink) -> Option<Vec<&'a Item>> {
    if is_call(root) {
        return Some(vec![root]);
    }
    if let Some(items) = root.as_list() {
        return Some(without_other_items(items));
    }
    let mut fields = Fields::of(root, "the message", sink)?;
    if let Some(choices) = fields.list("choices", sink) {
        return calls_of_choice(choices, root, sink);
    }
    if let Some(output) = fields.list("output", sink) {
        report_cut_off(root, "status", &["incomplete"], sink);
        return Some(without_other_items(output));
    }
    if let Some(call) = fields.optional("function_call") {
        return Some(vec![call]);
    }
    let items = fields.required_list("tool_calls", sink)?;
    Some(items.iter().collect())
}

/// The calls in the message of the only choice.
fn calls_of_choice<'a>(
    choices: &'a [Item],
    root: &'a Item,
    sink: &mut DiagnosticSink,
) -> Option<Vec<&'a Item>> {
    let [choice] = choices else {
        let message = format!("the response has {} choices", choices.len());
        let diagnostic = Diagnostic::error(Code::ConflictingFields, message);
        let place = root.get("choices").map_or(root.place, |item| item.place);
        sink.push(
            place,
            diagnostic.help("keep the one whose calls are to be made"),
        );
        return None;
    };
    report_cut_off(choice, "finish_reason", &["length"], sink);
    let mut fields = Fields::of(choice, "the choice", sink)?;
    let message = fields.required("message", sink)?;
    let mut message = Fields::of(message, "the message", sink)?;
    if let Some(call) = message.optional("function_call") {
        return Some(vec![call]);
    }
    let items = message.required_list("tool_calls", sink)?;
    Some(items.iter().collect())
}

/// The items of a list that may be calls.
fn without_other_items(items: &[Item]) -> Vec<&Item> {
    items.iter().filter(|item| !is_other(item)).collect()
}
