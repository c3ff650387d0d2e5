//! Outcomes of runs and of steps, and people's choices about steps.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

use crate::backend::{ToolError, ToolOutput};

/// The final status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every step that had to run succeeded.
    Succeeded,
    /// A step failed and the plan does not handle it, the output could not be computed, the time limit was exceeded
    /// before all steps had run, or the journal [failed](crate::RunSummary::journal_error).
    Failed,
    /// The run waits for a person.
    Waiting,
    /// The run was cancelled, or drained before all its steps had run.
    Cancelled,
}

impl RunStatus {
    /// The status, as reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The status of a step, as named in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// The step succeeded.
    Succeeded,
    /// The step failed.
    Failed,
    /// The step was skipped: its data does not exist, or its condition does not hold.
    Skipped,
    /// The run stopped before it began.
    NotRun,
    /// The step was running when the run was cancelled.
    Cancelled,
    /// The step waits for a person.
    Waiting,
    /// The outcome of a call is unknown: a person must decide what follows.
    Unknown,
}

impl StepStatus {
    /// The status, as reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::NotRun => "not_run",
            Self::Cancelled => "cancelled",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why a step did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkipReason {
    /// The kind of reason.
    pub because: SkipKind,
    /// The step or slot that it refers to.
    pub of: Arc<str>,
}

/// The kinds of reasons for not running a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkipKind {
    /// A step that it needs did not succeed.
    Step,
    /// A branch was not taken, so a slot has no value.
    Branch,
    /// The step's own condition is `false`.
    Condition,
    /// The run stopped after this step's failure.
    Stopped,
    /// A person chose to skip it.
    Person,
}

impl SkipReason {
    pub(crate) fn new(because: SkipKind, of: impl Into<Arc<str>>) -> Self {
        Self {
            because,
            of: of.into(),
        }
    }
}

impl fmt::Display for SkipReason {
    /// The reason as one clause, with the name as in the plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.of;
        match self.because {
            SkipKind::Step => write!(f, "`{of}` has not succeeded"),
            // A slot has several writers, so no single step is to blame.
            SkipKind::Branch => write!(f, "nothing filled `{of}`"),
            SkipKind::Condition => f.write_str("its condition was false"),
            SkipKind::Stopped => write!(f, "the run stopped after `{of}`"),
            SkipKind::Person => f.write_str("a person decided to skip it"),
        }
    }
}

/// A person's choice about a step of a resumed run.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Call its tool again, even if the earlier call may have happened.
    Retry,
    /// Skip the step.
    Skip,
    /// Continue as if it had returned this output.
    Set(Value),
}

/// The outcome of a step, an item or a round.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: StepStatus,
    pub(crate) output: Option<Arc<ToolOutput>>,
    /// Boxed, since outcomes are moved often and few have an error.
    pub(crate) error: Option<Box<ToolError>>,
    /// True if the plan handles the failure, so the run has not failed by it.
    pub(crate) handled: bool,
    pub(crate) reason: Option<SkipReason>,
    /// True if it has failed or depends on a failed step.
    pub(crate) by_failure: bool,
}

impl Outcome {
    pub(crate) fn succeeded(output: Arc<ToolOutput>) -> Self {
        Self {
            status: StepStatus::Succeeded,
            // Shared, since outcomes are copied into summaries and histories, and outputs may be large.
            output: Some(output),
            error: None,
            handled: false,
            reason: None,
            by_failure: false,
        }
    }

    pub(crate) fn failed(error: impl Into<Box<ToolError>>) -> Self {
        Self {
            status: StepStatus::Failed,
            output: None,
            error: Some(error.into()),
            handled: false,
            reason: None,
            by_failure: true,
        }
    }

    pub(crate) fn skipped(reason: SkipReason) -> Self {
        Self::without_output(StepStatus::Skipped, Some(reason))
    }

    pub(crate) fn without_output(status: StepStatus, reason: Option<SkipReason>) -> Self {
        Self {
            status,
            output: None,
            error: None,
            handled: false,
            reason,
            by_failure: false,
        }
    }

    /// The outcome as a value, for `results` references.
    pub(crate) fn as_value(&self, tool: &str) -> Value {
        // All fields exist for each status, so that a path into them is valid whatever happened.
        let error = self.error.as_ref().map_or(Value::Null, |error| {
            Value::object([
                ("kind", Value::from(error.kind.as_str())),
                ("code", error.code()),
                ("message", Value::from(error.message.as_str())),
                ("data", error.data.clone()),
            ])
        });
        let data = self
            .output
            .as_ref()
            .map_or(Value::Null, |output| output.value.clone());
        Value::object([
            ("success", Value::Bool(self.status == StepStatus::Succeeded)),
            ("status", Value::from(self.status.as_str())),
            ("tool", Value::from(tool)),
            ("data", data),
            ("error", error),
        ])
    }
}
