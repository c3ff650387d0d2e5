//! The notation of ReWOO: plans in words, each with a piece of evidence that a tool finds.
//!
//! ```text
//! Plan: Find out who made the telescope.
//! #E1 = Google[maker of the first telescope]
//! Plan: Find out when that was.
//! #E2 = LLM[When did #E1 live? Given context: #E1]
//! ```
//!
//! - A line `#E1 = Tool[input]` is a step, whose id is `E1`; it may stand behind the plan on one line. The input goes
//!   from the first `[` to the last `]` of the line, or of the lines after it where that one has none. It is one text,
//!   for the tool's first parameter (the checks know its name); an empty one is no argument.
//! - `Plan:` says why the next step is there. Other lines are for people.
//! - A reference is `#E1`: as the whole input it keeps the value's type, inside of it the value is inserted as it is,
//!   where the origin puts it in square brackets. `#E1` is not found in `#E10`. Forward references are fine; steps
//!   that do not depend on each other run side by side, where the origin runs them in order.
//! - `#E1` with more of a word or a path behind it, `#E` without a number, `#e1` where there is a step `E1`, and a number
//!   that is no step's are findings, where the origin passes them on.
//! - Literal: `##E1` is `#E1`, and each further `#` before it stands for one less. Any other `#` is itself.

mod parse;
mod reference;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Syntax};

/// The notation of ReWOO's planner.
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

    fn recognise(&self, document: &Document) -> Likeness {
        let text = document.root.as_text();
        let is_step = |text: &str| {
            text.lines()
                .any(|line| parse::evidence_head(line).is_some())
        };
        if text.is_some_and(|text| is_step(text)) {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
