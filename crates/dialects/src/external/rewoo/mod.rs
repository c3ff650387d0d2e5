//! The dialect of ReWOO: plans in words, each with the evidence that a tool finds.
//!
//! ```text
//! Plan: Find out who made the telescope.
//! #E1 = Google[maker of the first telescope]
//! Plan: Find out when that was.
//! #E2 = LLM[When did #E1 live? Given context: #E1]
//! ```
//!
//! - A line `#E1 = Tool[input]` is a step with the id `E1`; it may follow the plan on one line. The input extends from
//!   the first `[` to the last `]` of the line, or of the lines after it if that one has none. It is one text for the
//!   first parameter of the tool, which the checks name; an empty one is no argument.
//! - `Plan:` becomes the note of the next step. Other lines are ignored if they are words; a line of
//!   code is an error.
//! - A reference is `#E1`: as the whole input it preserves the type of the value, inside of it the value is inserted;
//!   the original system adds square brackets. `#E10` does not contain `#E1`. References may lead forward; independent
//!   steps run in parallel, whereas the original system runs them in order.
//! - `#E1` followed by more of a word or a path, `#E` without a number, `#e1` if there is a step `E1`, and the number
//!   of no step are errors; the original system passes them on.
//! - Literal: `##E1` is `#E1`, and each further `#` before it stands for one less. Any other `#` is itself.

mod parse;
mod reference;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Syntax};
use crate::foreign_references::ReferenceForm;

/// The dialect of ReWOO's planner.
#[derive(Clone, Copy, Debug)]
pub struct Rewoo;

impl Dialect for Rewoo {
    fn name(&self) -> &'static str {
        "rewoo"
    }

    fn shape(&self) -> &'static str {
        "lines `Plan: …` and `#E1 = Tool[input]` with `#E1`"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Lines
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let text = document.root.as_text();
        let is_step = |text: &str| {
            text.lines()
                .any(|line| parse::evidence_head(line).is_some())
        };
        if text.is_some_and(|text| is_step(text)) {
            MatchConfidence::Certain
        } else {
            MatchConfidence::No
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |path| {
                let step = path.split(['.', '[']).next().unwrap_or_default();
                Some(format!("#{step}"))
            },
            is_own: |text| text.starts_with("#E"),
        })
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
