//! The notation of LLMCompiler: numbered lines of calls.
//!
//! ```text
//! 1. search("height of Mount Everest")
//! 2. search("height of Kilimanjaro")
//! Thought: Now both are known.
//! 3. math("$1 / $2", digits=2)
//! 4. join()<END_OF_PLAN>
//! ```
//!
//! - A line is a number, the step's id, and a call with arguments as Python writes them: texts in either quotes, numbers,
//!   `True`, `None`, lists, tuples, dictionaries, and references. Arguments stand for the tool's parameters in their
//!   order (the checks give them names), or have names of their own. What is not written so, and begins with neither
//!   a quote nor a bracket, is one text: `search(Mount Everest)`.
//! - A reference is `$1` or `${1}`: alone, in quotes or not, it keeps the value's type; inside of a text it is
//!   inserted. `$1` is not found in `$10`. Forward references are fine.
//! - `$1` with more of a word, a number or a path behind it, a number that is no step's, and `${…}` with anything else
//!   inside are findings.
//! - Literal: `$$1` is `$1`, `$${` is `${`, and so on: dollars in front of either come in pairs. Any other `$` is a dollar.
//! - `Thought:` says why the next step is there. `join()` ends the plan and calls nothing; what it collects is the
//!   plan's output. `#` after a call begins a comment. Lines that begin with no number are for people.

mod argument;
mod parse;
mod python_string;
mod reference;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Syntax};

/// The notation of LLMCompiler's planner.
#[derive(Clone, Copy, Debug)]
pub struct LlmCompiler;

impl Dialect for LlmCompiler {
    fn name(&self) -> &'static str {
        "llm-compiler"
    }

    fn shape(&self) -> &'static str {
        "lines `1. tool(\"argument\")` with `$1`, then `join()`"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Lines
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> Likeness {
        let text = document.root.as_text();
        let is_call = |text: &str| text.lines().any(|line| parse::call_head(line).is_some());
        if text.is_some_and(|text| is_call(text)) {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }
}
