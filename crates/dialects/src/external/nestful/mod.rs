//! The dialect of NESTFUL, a benchmark of nested calls: labelled calls that refer to each other.
//!
//! ```json
//! [
//!   {"name": "get_weather", "label": "$var_1", "arguments": {"city": "Oslo"}},
//!   {"name": "notify", "label": "$var_2", "arguments": {"text": "It has $var_1.result.temp$ degrees"}}
//! ]
//! ```
//!
//! - The plan is the list, or a sample `{"input", "output"}` whose `output` is the list or its JSON text; other fields
//!   of a sample are ignored.
//! - A label is written with or without its `$`; without it, it is the step's id. The id of a call without a label is
//!   its position from 1, and nothing can refer to it.
//! - A reference is `$label$`, `$label.field$`, `$label.list[0].a field$`, alone or inside of longer text. References
//!   may lead forward.
//! - A known label may hold any character but `$`, and the longest that fits counts; an unknown one is a word.
//! - A call of `var_result` calls nothing: its arguments are the plan's output. A plan has at most one.
//! - A known label after a `$` without a closing one, an unknown label between two `$`, and a known one without its
//!   first `$` are errors.
//! - Literal: `$$` before a label stands for `$`, and each further `$` before it for one less. The original system has
//!   no escape. Any other `$` is a dollar.

mod parse;
mod reference;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item};
use crate::foreign_references::ReferenceForm;

/// The dialect of the NESTFUL benchmark.
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

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let root = &document.root;
        let output = root.get("output").filter(|_| root.has("input"));
        if let Some(text) = output.and_then(Item::as_text) {
            let is_list = text.trim_start().starts_with('[') && text.contains("\"arguments\"");
            return if is_list {
                MatchConfidence::Certain
            } else {
                MatchConfidence::No
            };
        }
        let calls = [Some(root), output].into_iter().flatten();
        let mut calls = calls.filter_map(Item::as_list).flatten();
        let is_call = |item: &Item| item.has("name") && item.has("arguments") && !item.has("type");
        if calls.any(is_call) {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |path| Some(format!("${path}$")),
            is_own: |text| {
                let label = text.strip_prefix('$');
                label.is_some_and(|label| {
                    !label.starts_with(['{', '(', '[']) && !label.starts_with("ref:")
                })
            },
        })
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
