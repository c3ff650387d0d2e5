//! The dialect of Anthropic's API for the tool calls of a message.
//!
//! ```json
//! {"role": "assistant", "content": [
//!   {"type": "text", "text": "I look at both."},
//!   {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
//!   {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Rome"}}
//! ], "stop_reason": "tool_use"}
//! ```
//!
//! - The plan is the message, its `content` alone, or a single block. Blocks of other kinds (text, thinking, tools
//!   that the API runs itself) and other fields of the message are ignored.
//! - A step's id is that of its block. All calls of a message are independent of each other, and there are no
//!   references: every text is literal.
//! - A message that was cut off by a limit is an error, since calls may be missing.

use std::sync::Arc;

use planwright_core::plan::{Action, Name, Node, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Plan, StepId, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item, quote};
use crate::foreign_references::ReferenceForm;
use crate::lowering::{LoweringContext, parse_calls};
use crate::lowering::{NoReferences, lower, text_or_number};

/// The tool calls of a message, as Anthropic's API writes them.
#[derive(Clone, Copy, Debug)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn shape(&self) -> &'static str {
        "`{\"content\": [{\"type\": \"tool_use\", \"id\", \"name\", \"input\"}]}`, or the list alone"
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let root = &document.root;
        let lists = [Some(root), root.get("content")];
        let mut blocks = lists
            .into_iter()
            .flatten()
            .filter_map(Item::as_list)
            .flatten();
        if is_call(root) || blocks.any(is_call) {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |_| None,
            is_own: |_| false,
        })
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }
}

/// Returns true if `item` is a block that calls a tool.
pub(super) fn is_call(item: &Item) -> bool {
    kind(item) == Some("tool_use")
}

/// Reads the calls of a message.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    parse_calls(document, blocks, step)
}

/// The blocks of `root` that may be calls: `root` is a list, a block, or a message.
fn blocks<'a>(root: &'a Item, sink: &mut DiagnosticSink) -> Option<Vec<&'a Item>> {
    if is_call(root) {
        return Some(vec![root]);
    }
    let items = match root.as_list() {
        Some(items) => items,
        None => {
            report_cut_off(root, sink);
            Fields::of(root, "the message", sink)?.required_list("content", sink)?
        }
    };
    // Items without a type are reported as malformed calls, all other kinds are ignored.
    let is_other = |item: &Item| kind(item).is_some() && !is_call(item);
    Some(items.iter().filter(|item| !is_other(item)).collect())
}

fn report_cut_off(message: &Item, sink: &mut DiagnosticSink) {
    let Some(reason) = message.get("stop_reason") else {
        return;
    };
    if let Some(word @ ("max_tokens" | "model_context_window_exceeded")) = text(reason) {
        let message = format!(
            "the message was cut off: its `stop_reason` is {}",
            quote(word)
        );
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        sink.push(
            reason.place,
            diagnostic.help("calls may be missing: let the model write it again, with more room"),
        );
    }
}

fn step(block: &Item, position: usize, context: LoweringContext<'_>) -> Option<Step> {
    let sink = context.sink;
    let mut fields = Fields::of(block, "the block", sink)?;
    fields.required("type", sink)?;
    let id = match fields
        .optional("id")
        .map(|id| text_or_number(id, "id", sink))
    {
        Some(id) => id?.text,
        None => format!("call_{}", position + 1).into(),
    };
    let name = fields.required_text("name", sink);
    let args = match fields.object("input", sink) {
        Some(input) => lower(input, &mut NoReferences),
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
