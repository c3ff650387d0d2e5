//! The notation of Anthropic's API for the tool calls of one message.
//!
//! ```json
//! {"role": "assistant", "content": [
//!   {"type": "text", "text": "I look at both."},
//!   {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
//!   {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Rome"}}
//! ], "stop_reason": "tool_use"}
//! ```
//!
//! - It is read as the message, as its `content` alone, or as one block. Blocks of other kinds (text, thinking, tools
//!   that the API runs itself) are passed over, and so is what else the message holds.
//! - A step's id is that of its block. All calls of a message are independent of each other, and there are no
//!   references: every text is literal.
//! - A message that was cut off by a limit is a finding, since calls may be missing.

mod parse;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Item};

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

    fn recognise(&self, document: &Document) -> Likeness {
        let root = &document.root;
        let lists = [Some(root), root.get("content")];
        let mut blocks = lists
            .into_iter()
            .flatten()
            .filter_map(Item::as_list)
            .flatten();
        if parse::is_call(root) || blocks.any(parse::is_call) {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
