//! The result of a run, as compatibility profiles read it.

use planwright_core::check::CheckedPlan;
use planwright_core::{Plan, Value};
use planwright_engine::run::{StepStatus, StepSummary};
use planwright_engine::{RunStatus, RunSummary};

use crate::response::answer::skip_reason;
use crate::response::budget::ResponseBudget;
use crate::response::content::Attachments;

/// The result of a run.
pub(super) struct ProfileOutcome<'a> {
    pub(super) summary: &'a RunSummary,
    /// The plan, if it is known.
    pub(super) plan: Option<&'a Plan>,
    bounds: ResponseBudget,
    attached: Attachments<'a>,
}

impl<'a> ProfileOutcome<'a> {
    /// Values are shown up to `most` bytes.
    pub(super) fn new(summary: &'a RunSummary, plan: Option<&'a CheckedPlan>, most: u64) -> Self {
        Self {
            summary,
            plan: plan.map(CheckedPlan::plan),
            bounds: ResponseBudget::new(most),
            attached: Attachments::of(summary, plan),
        }
    }

    /// The blocks besides the text, and the run if a value was abbreviated.
    pub(super) fn finish(self) -> (Vec<Value>, Option<&'a str>) {
        let (blocks, _) = self.attached.finish();
        let whole = self.bounds.is_trimmed.then_some(&*self.summary.run);
        (blocks, whole)
    }

    pub(super) fn is_success(&self) -> bool {
        self.summary.status == RunStatus::Succeeded
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &'a StepSummary> + use<'a> {
        self.summary.steps.iter()
    }

    /// `value`, as much of it as is shown.
    pub(super) fn shown(&mut self, value: &Value) -> Value {
        // A field of any type is trimmed as a whole.
        let shown = self.shown_fields(&Value::object([("value", value.clone())]));
        shown.get("value").cloned().unwrap_or_default()
    }

    /// The fields of `values`, as much of each as is shown.
    pub(super) fn shown_fields(&mut self, values: &Value) -> Value {
        self.bounds.fields(&self.attached.detach(values))
    }

    /// Returns the reason why a step has no output.
    pub(super) fn failure_reason(&self, step: &StepSummary) -> String {
        let (run, at) = (&self.summary.run, &step.at);
        match step.status {
            StepStatus::Succeeded => String::new(),
            StepStatus::Failed => failure(step),
            StepStatus::Skipped | StepStatus::NotRun => match &step.reason {
                Some(reason) => format!("skipped: {}", skip_reason(reason)),
                None => "skipped".to_owned(),
            },
            StepStatus::Cancelled => "cancelled".to_owned(),
            StepStatus::Waiting => format!(
                "a person has to decide about this call of `{at}` before the run `{run}` can continue"
            ),
            StepStatus::Unknown => format!(
                "it is unknown whether this call happened; a person has to look and decide before the run `{run}` can continue"
            ),
        }
    }
}

/// Returns the error of the step or of one of its parts.
fn failure(step: &StepSummary) -> String {
    if let Some(error) = &step.error {
        return error.message.clone();
    }
    let mut parts = step.parts.iter();
    match parts.find(|part| part.status == StepStatus::Failed) {
        Some(part) => format!("`{}` failed: {}", part.at, failure(part)),
        None => "failed".to_owned(),
    }
}
