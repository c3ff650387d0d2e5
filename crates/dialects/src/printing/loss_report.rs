//! The report of what a dialect cannot express of a plan.

use std::time::Duration;

use planwright_core::diagnostic::Tally;
use planwright_core::plan::Targets;
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Sources, Value};

use super::size::{WrittenSize, text_oversize};
use crate::document::Limits;

/// What a dialect cannot say of one plan.
#[derive(Debug)]
pub(crate) struct LossReport<'a> {
    dialect: &'static str,
    plan: Place,
    sources: &'a Sources,
    diagnostics: Diagnostics,
    tally: Tally,
    /// Differences already reported.
    differences: Vec<&'static str>,
}

impl<'a> LossReport<'a> {
    /// Nothing so far.
    pub(crate) fn new(dialect: &'static str, plan: &'a Plan) -> Self {
        Self {
            dialect,
            plan: plan.place,
            sources: &plan.sources,
            diagnostics: Diagnostics::new(),
            tally: Tally::default(),
            differences: Vec::new(),
        }
    }

    /// The loss of `what` at `place` would change what the plan does.
    pub(crate) fn error(&mut self, place: Place, what: &str) {
        let message = format!("the {} dialect cannot say {what}", self.dialect);
        self.push(place, Diagnostic::error(Code::Unprintable, message));
    }

    /// The same, with a way out.
    pub(crate) fn error_with(&mut self, place: Place, what: &str, help: &str) {
        let message = format!("the {} dialect cannot say {what}", self.dialect);
        let diagnostic = Diagnostic::error(Code::Unprintable, message);
        self.push(place, diagnostic.help(help));
    }

    /// Warns once per plan that the system that a plan is written for differs in `what`, with the difference.
    pub(crate) fn difference(&mut self, place: Place, what: &'static str, difference: &str) {
        if !self.differences.contains(&what) {
            self.differences.push(what);
            let message = format!("the {} dialect cannot say {what}", self.dialect);
            self.push(
                place,
                Diagnostic::warning(Code::Unprintable, message).help(difference),
            );
        }
    }

    /// The loss of `what` at `place` leaves a plan that does much the same.
    pub(crate) fn warning(&mut self, place: Place, what: &str) {
        let message = format!("the {} dialect cannot say {what}", self.dialect);
        self.push(place, Diagnostic::warning(Code::Unprintable, message));
    }

    /// A `time` at `place` that is longer than what is read.
    pub(crate) fn duration_too_long(&mut self, place: Place, time: Duration) {
        let what = format!("a time of {} s", time.as_secs());
        self.error_with(place, &what, "leave a limit out where there is to be none");
    }

    /// Says where `targets` at `place` are a choice among less than two slots, which is no choice.
    pub(crate) fn report_single_choice(&mut self, targets: &Targets, place: Place) {
        if let Targets::OneOf(slots) = targets
            && slots.len() < 2
        {
            let help = "give one slot for success and one for failure";
            self.error_with(place, "a choice among less than two slots", help);
        }
    }

    /// Adds a finding.
    fn push(&mut self, place: Place, diagnostic: Diagnostic) {
        if self.tally.count(diagnostic.severity) {
            self.diagnostics.push(diagnostic.at(place, self.sources));
        }
    }

    /// The findings; the last one says how many more there are.
    fn into_diagnostics(mut self) -> Diagnostics {
        self.tally.tell_rest(&mut self.diagnostics);
        self.diagnostics
    }

    /// The text for `plan` in JSON, unless something was lost that matters, and the findings.
    pub(crate) fn finish(self, plan: &Value) -> (Option<String>, Diagnostics) {
        self.finish_text(plan, |plan| {
            serde_json::to_string_pretty(plan).unwrap_or_else(|_| plan.to_json()) + "\n"
        })
    }

    /// What `write` makes of `plan`, unless something was lost that matters, and the findings.
    pub(crate) fn finish_text(
        mut self,
        plan: &Value,
        write: impl FnOnce(&Value) -> String,
    ) -> (Option<String>, Diagnostics) {
        if self.tally.has_errors() {
            return (None, self.into_diagnostics());
        }
        self.report_oversize(self.plan, plan);
        if self.tally.has_errors() {
            return (None, self.into_diagnostics());
        }
        let text = write(plan);
        if let Some(oversize) = text_oversize(&text, &Limits::default()) {
            self.push(self.plan, oversize);
        }
        (Some(text), self.into_diagnostics())
    }

    /// Says where `written`, which is to stand at `place` as one text in JSON, is more than is read where nobody allows more.
    pub(crate) fn report_oversize(&mut self, place: Place, written: &Value) {
        let extent = WrittenSize::of(written);
        if extent.depth > Limits::DEEPEST {
            let what = format!("a plan that is nested {} levels deep", extent.depth);
            let help = "let what lies deeper be an input of the run, or come from a step";
            self.error_with(place, &what, help);
            return;
        }
        for diagnostic in extent.oversize(&Limits::default()) {
            self.push(place, diagnostic);
        }
    }
}
