//! The trait of a dialect: a way to write plans that can be recognised, read and printed.

use planwright_core::{Code, Diagnostic, Diagnostics, Plan};

use crate::document::{Document, Syntax};
use crate::foreign_references::ReferenceForm;

/// A way to write plans.
pub trait Dialect: Sync {
    /// The name by which users choose the dialect: letters, digits and hyphens.
    fn name(&self) -> &'static str;

    /// The form of its plans in a few words, for the message about a text that has the form of no dialect.
    fn shape(&self) -> &'static str;

    /// The syntax of its texts.
    fn syntax(&self) -> Syntax {
        Syntax::Json
    }

    /// Returns true if plans can be printed in this dialect, not only read.
    fn is_writable(&self) -> bool {
        true
    }

    /// Estimates from its form alone if a text is a plan in this dialect.
    ///
    /// A plan without steps and without a field of the dialect's own is [`MatchConfidence::No`]: only the native dialect accepts it.
    fn recognise(&self, document: &Document) -> MatchConfidence;

    /// Reads a plan and reports all diagnostics at once.
    ///
    /// A plan may come with errors, so that the checks can add their diagnostics; such a plan must not be run.
    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics);

    /// The form of the dialect's references. The literal texts of its plans are then searched for references of other
    /// systems.
    fn reference_form(&self) -> Option<ReferenceForm> {
        None
    }

    /// Writes a plan, or reports what this dialect cannot express: an error for each loss that would change what the plan
    /// does, a warning for each loss that concerns only people. A dialect that is only read reports that.
    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        let message = format!("the {} dialect is only read, not written", self.name());
        let diagnostic = Diagnostic::error(Code::Unprintable, message);
        let diagnostic = diagnostic.at(plan.place, &plan.sources);
        (None, [diagnostic].into_iter().collect())
    }
}

/// The confidence that a text is written in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchConfidence {
    /// The text is something else.
    No,
    /// No part contradicts the dialect, and none is unique to it.
    Possible,
    /// The text has a part that is unique to this dialect.
    Certain,
}

impl MatchConfidence {
    /// Returns `Certain` if the text has a part that is unique to the dialect, and `No` otherwise.
    pub(crate) fn certain_if(is_certain: bool) -> Self {
        if is_certain { Self::Certain } else { Self::No }
    }
}
