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

use planwright_core::plan::{Node, Step};
use planwright_core::{Diagnostics, Plan, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item};
use crate::foreign_references::ReferenceForm;
use crate::lowering::{
    LoweringContext, NoReferences, call_id, lower, parse_calls, report_cut_off, tool_action,
};

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
        let has_call = is_call(&document.root) || document.any_item(&["content"], is_call);
        MatchConfidence::certain_if(has_call)
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm::NONE)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }
}

/// The values of `stop_reason` that mean a limit.
const CUT_OFF: [&str; 2] = ["max_tokens", "model_context_window_exceeded"];

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
            report_cut_off(root, "stop_reason", &CUT_OFF, sink);
            Fields::of(root, "the message", sink)?.required_list("content", sink)?
        }
    };
    // Items without a type are reported as malformed calls, all other kinds are ignored.
    let is_other = |item: &Item| kind(item).is_some() && !is_call(item);
    Some(items.iter().filter(|item| !is_other(item)).collect())
}

fn step(block: &Item, position: usize, context: LoweringContext<'_>) -> Option<Step> {
    let sink = context.sink;
    let mut fields = Fields::of(block, "the block", sink)?;
    fields.required("type", sink)?;
    let id = call_id(fields.optional("id"), position, sink)?;
    let action = tool_action(&mut fields, "name", sink);
    let args = match fields.object("input", sink) {
        Some(input) => lower(input, &mut NoReferences),
        None => Node::literal(Value::empty_object(), block.place),
    };
    let mut step = Step::new(id, action, args);
    step.place = block.place;
    Some(step)
}

fn kind(item: &Item) -> Option<&str> {
    item.get("type")?.as_text().map(|kind| &**kind)
}
