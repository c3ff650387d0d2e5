//! The clear-ai dialect: steps by position, `${step[0].data.*.id}`.
//!
//! ```json
//! {"steps": [
//!   {"tool": "shipments_list", "params": {"limit": 100}},
//!   {"tool": "contaminants_list", "params": {"shipment_ids": "${step[0].data.*.id}"}, "depends_on": [0]}
//! ], "metadata": {"query": "contaminated shipments"}}
//! ```
//!
//! - A step's id is its position from 0, as text. `params` may not be left out.
//! - `${step[N].data…}` reads the output: `.field`, `["odd key"]`, `[0]`, `[-1]`, `.*` or `[*]` for every item of a list.
//!   `.success`, `.tool` and `.error…` read what became of the step; `${step[N]}` is all of that. An item without
//!   the field gives `null`, any other missing part fails the step. Templates work inside of longer text and at
//!   any depth, and make a dependency by themselves; blanks inside of the braces do not count.
//! - A template that cannot be read is a finding, where the origin hands it to the tool as it is.
//! - `parallel: false` makes a step run alone. `optional: true`: its failure fails nobody. `timeout` is in
//!   milliseconds, for all attempts together. `retry_count` counts the attempts after the first. The origin reads
//!   none of the four.
//! - Literal: `$${` stands for `${`; the origin has no escape. A literal `$` right before a template is `$$`.

mod parse;
mod print;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Item};

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

    fn recognise(&self, document: &Document) -> Likeness {
        let steps = document.root.get("steps").and_then(Item::as_list);
        let marked = |step: &Item| step.has("params") && step.has("tool");
        if steps.is_some_and(|steps| steps.iter().any(marked)) {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}
