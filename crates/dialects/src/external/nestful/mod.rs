//! The notation of NESTFUL, a benchmark of nested calls: labelled calls that refer to each other.
//!
//! ```json
//! [
//!   {"name": "get_weather", "label": "$var_1", "arguments": {"city": "Oslo"}},
//!   {"name": "notify", "label": "$var_2", "arguments": {"text": "It has $var_1.result.temp$ degrees"}}
//! ]
//! ```
//!
//! - It is read as the list, or as a sample `{"input", "output"}` whose `output` is the list or the JSON text of it;
//!   what else a sample holds is passed over.
//! - A label is written with or without its `$`; without it, it is the step's id. A call without a label is known by
//!   its position from 1, and nothing can refer to it.
//! - A reference is `$label$`, `$label.field$`, `$label.list[0].a field$`, alone or inside of longer text. Forward
//!   references are fine.
//! - A known label may hold any character but `$`, and the longest that fits is meant; an unknown one is a word.
//! - A call of `var_result` calls nothing: its arguments say what the plan gives back. There is one at most.
//! - A known label behind a `$` that is never closed, an unknown one between two `$`, and a known one whose first `$` is
//!   missing are findings.
//! - Literal: `$$` before a label stands for `$`, and each further `$` before it for one less. The origin has no escape. Any other `$` is
//!   a dollar.

mod parse;
mod reference;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Item};

/// The notation of the NESTFUL benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Nestful;

impl Dialect for Nestful {
    fn name(&self) -> &'static str {
        "nestful"
    }

    fn shape(&self) -> &'static str {
        "`[{\"name\", \"label\", \"arguments\"}]` with `$label.field$`"
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> Likeness {
        let root = &document.root;
        let output = root.get("output").filter(|_| root.has("input"));
        if let Some(text) = output.and_then(Item::as_text) {
            let is_list = text.trim_start().starts_with('[') && text.contains("\"arguments\"");
            return if is_list {
                Likeness::Certain
            } else {
                Likeness::No
            };
        }
        let calls = [Some(root), output].into_iter().flatten();
        let mut calls = calls.filter_map(Item::as_list).flatten();
        let is_call = |item: &Item| item.has("name") && item.has("arguments") && !item.has("type");
        if calls.any(is_call) {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
