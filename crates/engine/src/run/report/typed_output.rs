//! The output of a run as a Rust type.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::summary::{RunSummary, StepSummary};
use crate::backend::ToolError;
use crate::event::Address;
use crate::run::{RunStatus, StepStatus};

/// The reason why a run has no output of the wanted type.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutputError {
    /// The run has not succeeded.
    Run {
        /// The status of the run.
        status: RunStatus,
        /// The first step that failed, if any has, with its error.
        failed: Option<Box<(Arc<Address>, ToolError)>>,
        /// The steps, items and rounds whose call waits for a decision.
        needs_approval: Vec<Arc<Address>>,
        /// The steps, items and rounds whose call may or may not have happened: a person has to say what becomes of it.
        in_doubt: Vec<Arc<Address>>,
    },
    /// The run has succeeded with another output.
    Type(serde_json::Error),
}

impl RunSummary {
    /// The output as a `T`.
    ///
    /// # Errors
    ///
    /// [`OutputError::Run`] if the run has not succeeded, with the step that failed; [`OutputError::Type`] if the output has another form.
    pub fn into_output<T: DeserializeOwned>(self) -> Result<T, OutputError> {
        if self.status != RunStatus::Succeeded {
            return Err(OutputError::Run {
                status: self.status,
                failed: first_failure(&self.steps).map(Box::new),
                needs_approval: with_status(&self.steps, StepStatus::Waiting),
                in_doubt: with_status(&self.steps, StepStatus::Unknown),
            });
        }
        serde_json::from_value(self.output.into()).map_err(OutputError::Type)
    }
}

/// The first step with an error, as deep inside of it as the error occurred.
fn first_failure(steps: &[StepSummary]) -> Option<(Arc<Address>, ToolError)> {
    let failed = steps
        .iter()
        .find(|step| step.status == StepStatus::Failed && step.error.is_some())?;
    first_failure(&failed.parts).or_else(|| Some((Arc::clone(&failed.at), failed.error.clone()?)))
}

fn with_status(steps: &[StepSummary], status: StepStatus) -> Vec<Arc<Address>> {
    let mut found = Vec::new();
    for step in steps {
        if step.parts.is_empty() && step.status == status {
            found.push(Arc::clone(&step.at));
        }
        found.extend(with_status(&step.parts, status));
    }
    found
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run {
                failed: Some(failed),
                ..
            } => write!(f, "the step `{}` failed: {}", failed.0, failed.1),
            Self::Run {
                needs_approval,
                in_doubt,
                status,
                ..
            } => match (needs_approval.first(), in_doubt.first()) {
                (Some(at), _) => write!(f, "the call of `{at}` waits for a decision"),
                (None, Some(at)) => write!(f, "the outcome of the call of `{at}` is unknown"),
                (None, None) => write!(f, "the run ended as {status}"),
            },
            Self::Type(error) => write!(f, "the output has another form: {error}"),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Run {
                failed: Some(failed),
                ..
            } => Some(&failed.1),
            Self::Run { failed: None, .. } => None,
            Self::Type(error) => Some(error),
        }
    }
}
