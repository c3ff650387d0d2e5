//! The agentle dialect: `execute_tool_plan`, `"$ref:id.path"`.
//!
//! ```json
//! {"steps": [
//!   {"id": "tokyo", "tool": "get_weather", "arguments": "{\"location\": \"Tokyo\"}"},
//!   {"id": "tell", "tool": "notify", "arguments": {"degrees": "$ref:tokyo.temp"}}
//! ], "output_steps": ["tell"]}
//! ```
//!
//! - `arguments` is an object or its JSON text, whose diagnostics have places as well; if absent, there are no
//!   arguments.
//! - A reference is a whole text, at any depth: `$ref:id`, `$ref:id.a.0.b`, `[0]` for `.0`, `["odd.key"]`. The id is
//!   the longest known one that fits, so ids and fields may hold hyphens, blanks, dots and any letters; the original
//!   system passes such a marker on to the tool. A missing part gives `null`.
//! - `output_steps`, if absent or empty, selects every step.
//! - `$ref:` inside of longer text is an error; the original system passes it on to the tool.
//! - Literal: `$$ref:` stands for `$ref:` anywhere in a text, and each further `$` before it for one less. The
//!   original system has no escape.

mod parse;
mod print;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item};
use crate::foreign_references::ReferenceForm;

/// The dialect of agentle4j's tool planning.
#[derive(Clone, Copy, Debug)]
pub struct Agentle;

/// The form of the references, for the search for those of other systems.
const REFERENCE_FORM: ReferenceForm = ReferenceForm {
    write: |path| Some(format!("$ref:{path}")),
    is_own: |text| text.starts_with("$ref:"),
};

impl Dialect for Agentle {
    fn name(&self) -> &'static str {
        "agentle"
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"id\", \"tool\", \"arguments\"}], \"output_steps\"}` with `\"$ref:id.path\"`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let marked = |step: &Item| step.has("arguments") && step.has("tool");
        if document.root.has("output_steps") || steps.iter().any(marked) {
            MatchConfidence::Certain
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
