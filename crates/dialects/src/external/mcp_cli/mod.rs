//! The mcp-cli dialect: indexed steps, variables, `${var.path}`.
//!
//! ```json
//! {"id": "p-1", "title": "Weather", "variables": {"place": {"city": "Oslo"}},
//!  "steps": [
//!   {"index": "1", "title": "Ask", "tool": "get_weather", "args": {"city": "${place.city}"},
//!    "depends_on": [], "result_variable": "now"},
//!   {"index": "2", "title": "Tell", "tool": "notify", "args": {"text": "${now.temp:-?} degrees"},
//!    "depends_on": ["1"]}
//! ]}
//! ```
//!
//! - `index` is text or a whole number; if absent, it is the position from 1. `depends_on` lists indices.
//! - `tool` with `args`, or `tool_calls` with exactly one `{"name", "args"}`, never both: the original system runs the
//!   first of several calls and drops the rest.
//! - `${name.a.0}`, `[0]`, `["odd.key"]`; `${["odd.name"]}`; blanks inside of the braces do not count. `${a.b:-7}` has
//!   a default, JSON if it parses, else text, for whatever is missing on the path. Texts and keys in that JSON have
//!   escapes, but no markers.
//! - A name that steps write with `result_variable` refers to the latest of them before the reader, in the order of
//!   `depends_on` and of the list; else to the plan's variable; else to the first step that writes it later. That
//!   makes a dependency, whereas the original system reads the value of that moment.
//! - A marker that cannot be read is an error; the original system passes it on to the tool.
//! - Printing writes what the executor of the original system resolves: all dependencies in `depends_on`, fields of
//!   objects; the rest is refused.
//! - Literal: `$${` stands for `${`; the original system has no escape. A literal `$` right before a marker is `$$`:
//!   `$$${a}`.
//! - `tags` and `metadata` are preserved (metadata of a plan in another dialect is written to `metadata`, and read
//!   back as such), `_status` is ignored.

mod parse;
mod print;
mod reference;
mod variables;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item};
use crate::foreign_references::ReferenceForm;

/// The dialect of mcp-cli's execution plans.
#[derive(Clone, Copy, Debug)]
pub struct McpCli;

/// The form of the references, for the search for those of other systems.
const REFERENCE_FORM: ReferenceForm = ReferenceForm {
    write: |path| {
        Some(format!(
            "${{{}}}",
            path.strip_prefix("vars.").unwrap_or(path)
        ))
    },
    is_own: |text| text.starts_with("${"),
};

impl Dialect for McpCli {
    fn name(&self) -> &'static str {
        "mcp-cli"
    }

    fn shape(&self) -> &'static str {
        "`{\"variables\", \"steps\": [{\"index\", \"tool\", \"args\", \"depends_on\", \"result_variable\"}]}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let calls = |step: &Item| step.has("args") || step.has("tool_calls");
        let marked = |step: &Item| {
            step.has("index")
                || step.has("result_variable")
                || step.has("tool_calls")
                || (step.has("depends_on") && step.has("args"))
        };
        if document.root.has("variables") || steps.iter().any(marked) {
            return MatchConfidence::Certain;
        }
        if !steps.is_empty() && steps.iter().all(|step| calls(step) && !step.has("id")) {
            MatchConfidence::Possible
        } else {
            MatchConfidence::No
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(REFERENCE_FORM)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}
