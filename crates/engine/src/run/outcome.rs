//! What became of a step.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

use crate::backend::{ToolError, ToolOutput};

/// Where a step stands, as reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepStatus {
    /// It has done what it was to do.
    Succeeded,
    /// It has failed.
    Failed,
    /// It had no reason to run: its data does not exist, or its condition does not hold.
    Skipped,
    /// Nothing new was started before its turn came.
    NotRun,
    /// It was under way when the run was cancelled.
    Cancelled,
    /// It waits for a person.
    Waiting,
    /// A call of it was not answered, and may or may not have happened: a person says what to make of it.
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

/// Why a step did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkipReason {
    /// What kind of reason it is.
    pub because: Because,
    /// The step or slot that it is about.
    pub of: Arc<str>,
}

/// The kinds of reason for not running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Because {
    /// A step that it needs did not succeed.
    Step,
    /// A branch was not taken: nobody filled a slot.
    Branch,
    /// Its own condition gave `false`.
    Condition,
    /// The run stopped after this step's failure.
    Stopped,
    /// A person decided that it is done without.
    Person,
}

impl SkipReason {
    pub(crate) fn new(because: Because, of: impl Into<Arc<str>>) -> Self {
        Self {
            because,
            of: of.into(),
        }
    }
}

/// What became of a step, an item of its loop, or a round of its repetition.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: StepStatus,
    pub(crate) output: Option<Arc<ToolOutput>>,
    pub(crate) error: Option<ToolError>,
    /// Whether the plan says what a failure means, so that the run has not failed by it.
    pub(crate) handled: bool,
    pub(crate) reason: Option<SkipReason>,
    /// Whether a failure lies behind it: its own, or that of a step that it needed.
    pub(crate) by_failure: bool,
}

impl Outcome {
    pub(crate) fn succeeded(output: Arc<ToolOutput>) -> Self {
        Self {
            status: StepStatus::Succeeded,
            output: Some(output),
            error: None,
            handled: false,
            reason: None,
            by_failure: false,
        }
    }

    pub(crate) fn failed(error: ToolError) -> Self {
        Self {
            status: StepStatus::Failed,
            output: None,
            error: Some(error),
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

    /// The outcome as a value: what `results` references read.
    pub(crate) fn as_value(&self, tool: &str) -> Value {
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
