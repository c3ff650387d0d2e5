//! The notation of OpenAI's APIs for the tool calls of one message.
//!
//! ```json
//! {"role": "assistant", "content": null, "tool_calls": [
//!   {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}},
//!   {"id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}}
//! ]}
//! ```
//!
//! - It is read wherever it stands: the list alone, the message, a chat completion with that message as its only
//!   choice, a response with items `{"type": "function_call", "call_id", "name", "arguments"}` in its `output`, or the
//!   list of those items. What else a message holds (texts, reasoning, usage) says nothing about calls and is passed
//!   over: the APIs add fields as they go.
//! - `arguments` is the JSON text of an object, read with all its findings placed; blank text stands for no arguments,
//!   an object for itself.
//! - A step's id is that of its call. All calls of a message are independent of each other, and there are no references: every text
//!   is literal.
//! - A message that was cut off by a limit is a finding, since calls may be missing; so is a call of a custom tool, which takes
//!   no arguments but a text.

mod call;
mod parse;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Item};

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

    fn recognise(&self, document: &Document) -> Likeness {
        let root = &document.root;
        let lists = [Some(root), root.get("tool_calls"), root.get("output")];
        let mut items = lists
            .into_iter()
            .flatten()
            .filter_map(Item::as_list)
            .flatten();
        let is_response = root.has("choices") && !root.has("steps");
        if is_response
            || root.has("function_call")
            || call::is_call(root)
            || items.any(call::is_call)
        {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
