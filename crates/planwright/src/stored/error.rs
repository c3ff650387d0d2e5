//! The errors of stored runs.

use std::sync::Arc;

use planwright_core::{ServerName, StepId};
use planwright_engine::RunId;
use planwright_engine::event::Address;
use planwright_store::StoreError;

use super::passphrase::PassphraseError;
use super::violations::ArgumentViolation;
use crate::format::FormatError;

/// The reason why a stored run cannot be read or resumed.
#[derive(Debug, thiserror::Error)]
pub enum StoredRunError {
    /// The store could not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A decision without the passphrase that it requires.
    #[error(transparent)]
    Passphrase(#[from] PassphraseError),
    /// The plan was not read in any dialect, so no process could read it again.
    #[error("the plan cannot be stored: its dialect is not known")]
    NoDialect,
    /// Another process or request has resumed the run since it was read.
    #[error("the run was resumed since it was read")]
    Outdated,
    /// The stored data was written by another version, or is damaged.
    #[error("the run cannot be read: {0}")]
    Unreadable(String),
    /// The plan was valid when the run began, but has errors now.
    #[error("the plan of the run has errors now")]
    Unsound,
    /// The plan differs from the latest plan of the run, and the caller did not pass it as a replacement.
    #[error("the plan is not that of the run")]
    OtherPlan,
    /// A call waits for a decision that was not shown to the person who approves the whole plan.
    #[error("the call of `{at}` waits as well, and was not shown")]
    NotShown {
        /// The calling step, item or round.
        at: Arc<Address>,
    },
    /// The plan was written in a dialect of the embedding program, which no other process could read.
    #[error(
        "the plan cannot be stored: the dialect `{0}` is not one of Planwright's, so no process could read it again"
    )]
    UnknownDialect(String),
    /// The plan cannot be written down so that it means the same when it is read again.
    #[error("the plan cannot be stored: {0}")]
    Unwritable(String),
    /// The run ended before its plan was complete.
    #[error("the run cannot be resumed: its plan was never complete")]
    Unfinished,
    /// A result to keep is not stale under the new plan.
    #[error("the result of `{0}` is not stale, so there is nothing to keep")]
    NotStale(String),
    /// A workflow engine drives the run, and would continue it as well.
    #[error("the run cannot be resumed: it is in progress on `{0}`")]
    DrivenBy(String),
    /// A later run has undone calls of the run, whose results it would use.
    #[error("the run was reverted by the run `{0}`")]
    Reverted(RunId),
    /// The run reverts another one, and a later revert of that one makes its remaining calls.
    #[error("the run `{0}` reverts the rest of what the run was to revert")]
    Superseded(RunId),
    /// A call of the latest run that reverts the run waits for a decision.
    #[error("the run `{0}` that reverts the run waits for a decision")]
    RevertWaits(RunId),
    /// The run undoes another one: a later revert of that one would not find out that its calls are in effect again.
    #[error("the run undoes what the run `{0}` did, and is not undone itself")]
    IsRevert(RunId),
    /// The plan reverts what it did if it fails, which takes a journal.
    #[error("the plan has `on_failure: revert`, and the run is not stored")]
    NotStored,
    /// No call of a step happened, or may have happened.
    #[error("the run made no call of `{0}` that could be undone")]
    NoCall(String),
    /// An input is not known any more.
    #[error("the input `{0}` is secret, so it was not stored")]
    Hidden(Arc<str>),
    /// A new plan would discard a call with an unknown outcome.
    #[error("the new plan changes `{step}`, and the outcome of the call of `{at}` is unknown")]
    Doubt {
        /// The step that the new plan changes or drops.
        step: StepId,
        /// The calling step, item or round.
        at: Arc<Address>,
    },
    /// A call is to be made again that a server which outlived its process may still be carrying out.
    #[error(
        "the server `{server}` of the earlier process (pid {pid}) is still running, so the call of `{at}` may still be in progress"
    )]
    ServerRuns {
        /// The server.
        server: ServerName,
        /// The id of the server's process.
        pid: u32,
        /// The calling step, item or round.
        at: Arc<Address>,
    },
    /// A choice was made for a step that is done.
    #[error("`{0}` has succeeded and is not repeated")]
    Done(String),
    /// A choice was made for a step that does not exist.
    #[error("the run has no step `{step}`")]
    UnknownStep {
        /// The step.
        step: String,
        /// A step with a similar name.
        near: Option<String>,
    },
    /// A choice was made for a name that may mean several steps.
    #[error("`{step}` matches several steps of the run: `{}`", names.join("`, `"))]
    AmbiguousStep {
        /// The text.
        step: String,
        /// The addresses of the steps.
        names: Vec<String>,
    },
    /// Two choices were made for one step.
    #[error("`{0}` has two conflicting choices")]
    Twice(String),
    /// There is nothing to cancel.
    #[error("the run has ended")]
    Ended,
    /// A choice sets an output that the tool of the step never returns.
    #[error("the output of `{step}` does not fit the schema of its tool: {}{}", pointed(&violation.pointer), violation.message)]
    WrongOutput {
        /// The step.
        step: String,
        /// The first part that does not fit.
        violation: ArgumentViolation,
    },
}

impl From<FormatError> for StoredRunError {
    fn from(error: FormatError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The place of a violation before its message; empty for the whole value.
fn pointed(pointer: &str) -> String {
    if pointer.is_empty() {
        String::new()
    } else {
        format!("`{pointer}`: ")
    }
}
