//! The clear-ai dialect: steps by position, `${step[0].data.*.id}`.
//!
//! ```json
//! {"steps": [
//!   {"tool": "shipments_list", "params": {"limit": 100}},
//!   {"tool": "contaminants_list", "params": {"shipment_ids": "${step[0].data.*.id}"}, "depends_on": [0]}
//! ], "metadata": {"query": "contaminated shipments"}}
//! ```
//!
//! - A step's id is its position from 0, as text. `params` is required.
//! - `${step[N].data…}` reads the output: `.field`, `["odd key"]`, `[0]`, `[-1]`, `.*` or `[*]` for every item of a
//!   list. `.success`, `.tool` and `.error…` read the result of the step; `${step[N]}` is the whole result. An item
//!   without the field gives `null`, any other missing part fails the step. Templates work inside of longer text and
//!   at any depth, and are dependencies; blanks inside of the braces do not count.
//! - A template that cannot be read is an error; the original system passes it on to the tool.
//! - `parallel: false` makes a step exclusive. `optional: true`: its failure does not fail the run. `timeout` is in
//!   milliseconds, for all attempts together. `retry_count` counts the attempts after the first. The original system
//!   reads none of the four.
//! - Literal: `$${` stands for `${`; the original system has no escape. A literal `$` right before a template is `$$`.

mod parse;
mod print;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item};
use crate::foreign_references::ReferenceForm;

/// The dialect of clear-ai's planner.
#[derive(Clone, Copy, Debug)]
pub struct ClearAi;

impl Dialect for ClearAi {
    fn name(&self) -> &'static str {
        "clear-ai"
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"tool\", \"params\", \"depends_on\"}]}` with `${step[0].data}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let steps = document.root.get("steps").and_then(Item::as_list);
        let marked = |step: &Item| step.has("params") && step.has("tool");
        if steps.is_some_and(|steps| steps.iter().any(marked)) {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |path| {
                let (step, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
                Some(format!("${{step[{step}].data{rest}}}"))
            },
            is_own: |text| text.starts_with("${"),
        })
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}
