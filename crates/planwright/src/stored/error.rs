//! Errors of stored runs.

use std::sync::Arc;

use planwright_core::StepId;
use planwright_engine::event::Address;
use planwright_store::StoreError;

/// The reason why a stored run cannot be read or resumed.
#[derive(Debug, thiserror::Error)]
pub enum StoredRunError {
    /// The store could not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan was not read in any dialect, so no process could read it again.
    #[error("the plan cannot be stored: its dialect is not known")]
    NoDialect,
    /// Another process or request has resumed the run since it was read.
    #[error("the run has gone on since it was read")]
    Outdated,
    /// The stored data was written by another version, or is damaged.
    #[error("the run cannot be read: {0}")]
    Unreadable(String),
    /// The plan that was sound when the run began is so no more.
    #[error("the plan of the run is not sound any more")]
    Unsound,
    /// The plan is not the one that the run began with, or resumed with last, and is not said to take its place.
    #[error("the plan is not that of the run")]
    OtherPlan,
    /// The plan was written in a dialect of a program, which no other process could read.
    #[error(
        "the plan cannot be stored: the dialect `{0}` is not one of Planwright's, so no process could read it again"
    )]
    UnknownDialect(String),
    /// The plan cannot be written down so that it means the same when it is read again.
    #[error("the plan cannot be stored: {0}")]
    Unwritable(String),
    /// The run was ended before its plan was there in full.
    #[error("the run cannot go on: its plan was never whole")]
    Unfinished,
    /// A result is named as kept that the new plan does not make stale.
    #[error("the result of `{0}` is not stale, so there is nothing to keep")]
    NotStale(String),
    /// An input is not known any more.
    #[error("the input `{0}` is secret, so it was not stored")]
    Hidden(Arc<str>),
    /// A new plan would bury a call in doubt.
    #[error("the new plan changes `{step}`, and the outcome of the call of `{at}` is unknown")]
    Doubt {
        /// The step that the new plan changes or drops.
        step: StepId,
        /// The calling step, item or round.
        at: Arc<Address>,
    },
    /// A call is to be made again that a server which outlived its process may still be carrying out.
    #[error(
        "the server `{server}` of the earlier process (pid {pid}) is still running, so the call of `{at}` may not be over"
    )]
    ServerRuns {
        /// The server.
        server: String,
        /// The id of the server's process.
        pid: u32,
        /// The calling step, item or round.
        at: Arc<Address>,
    },
    /// A choice was made for a step that is done.
    #[error("`{0}` has succeeded, and what is done stays done")]
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
    #[error("`{step}` may mean several steps of the run: `{}`", names.join("`, `"))]
    AmbiguousStep {
        /// The text.
        step: String,
        /// The addresses of the steps.
        names: Vec<String>,
    },
    /// Two choices were made for one step.
    #[error("two things are said about `{0}`")]
    Twice(String),
}
