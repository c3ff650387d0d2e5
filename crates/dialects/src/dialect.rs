//! What a dialect is: a way to write plans that can be recognised, read and printed.

use planwright_core::{Diagnostics, Plan};

use crate::document::{Document, Syntax};
use crate::printing::read_only;

/// One way to write plans.
pub trait Dialect: Sync {
    /// The name that people choose the dialect by: letters, digits and hyphens.
    fn name(&self) -> &'static str;

    /// The shape in a few words, for those whose text has none of the shapes.
    fn shape(&self) -> &'static str;

    /// What its texts are made of.
    fn syntax(&self) -> Syntax {
        Syntax::Json
    }

    /// Whether plans can be written in this dialect, or only read.
    fn is_writable(&self) -> bool {
        true
    }

    /// Whether a text looks like this dialect, judged by its shape alone. A plan without a single step and
    /// without anything else that tells is [`Likeness::No`]: only the native dialect claims it.
    fn recognise(&self, document: &Document) -> Likeness;

    /// Reads a plan, with all findings at once.
    ///
    /// A plan that comes with errors is there so that the checks can add their findings; it must not be run.
    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics);

    /// Writes a plan, or says what this dialect cannot say: an error for each thing whose loss would change
    /// what the plan does, a warning for what only people read. A dialect that is only read says so, if it says nothing else.
    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        read_only(self.name(), plan)
    }
}

/// How much a text looks like a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// It is something else.
    No,
    /// It may be one: nothing in it speaks against it, nothing in it is found in this dialect alone.
    Possible,
    /// It has something that only this dialect has.
    Certain,
}
