//! The tools of plans that the page checks and runs. The program that serves the page opens them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use planwright::Planwright;
use planwright::core::{CheckedPlan, Value};
use planwright::engine::{RunId, RunOptions, SecretValues};
use planwright::format::ToolSourcesV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::service::Revert;
use planwright::stored::StoredRun;

/// Opens tools.
pub trait PageTools: Send + Sync {
    /// Opens all tools for lists and checks; they are not called. With `is_fresh`, the servers list them again.
    fn list(&self, is_fresh: bool) -> BoxFuture<'_, Result<OpenTools, ToolsError>>;

    /// Opens the tools in `needed` for calls of a plan that a person wrote on the page.
    fn open(&self, needed: BTreeSet<String>) -> BoxFuture<'_, Result<OpenTools, ToolsError>>;

    /// Opens simulated tools, which answer from `script`.
    fn simulate(&self, script: Value) -> BoxFuture<'_, Result<OpenTools, ToolsError>>;

    /// Opens the tools for the continuation of a stored run.
    fn of_run<'a>(&'a self, stored: &'a StoredRun) -> BoxFuture<'a, Result<OpenTools, ToolsError>>;

    /// Prepares to undo what the stored run `run` did, and opens the tools of the undos.
    fn revert<'a>(
        &'a self,
        run: &'a RunId,
        stored: &'a StoredRun,
    ) -> BoxFuture<'a, Result<OpenRevert, ToolsError>>;

    /// Returns true if plans can be run with these tools.
    fn can_run(&self) -> bool;
}

/// A revert whose plan is checked with tools that are open.
#[derive(Debug)]
pub struct OpenRevert {
    /// The calls that it undoes, and those that it does not.
    pub revert: Revert,
    /// The plan; `None` if there is nothing to undo.
    pub plan: Option<(CheckedPlan, LoadedPlan)>,
    /// The tools of the undos.
    pub tools: OpenTools,
}

/// Reads the values of `env` and `secrets` references of a plan.
pub type ExternalValues = dyn Fn(&CheckedPlan) -> Result<SecretValues, ToolsError> + Send + Sync;

/// Tools that are open.
#[derive(Clone)]
pub struct OpenTools {
    /// The service over them, with the store of the page.
    pub service: Planwright,
    /// The sources of the tools, for the process that resumes a run.
    pub sources: ToolSourcesV1,
    /// The options of runs.
    pub options: RunOptions,
    /// The values of `env` and `secrets` references of a plan.
    pub external_values: Arc<ExternalValues>,
    /// Ends the tools when the last clone is dropped, if they are not closed before.
    pub guard: Arc<dyn ToolsGuard>,
}

/// The processes and connections of open tools. Dropping it ends them at once.
pub trait ToolsGuard: Send + Sync {
    /// Ends the processes and connections, and waits until they have ended. No call is in flight.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The reason why tools cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolsError {
    /// The reason, as one clause.
    pub message: String,
    /// A way to fix it.
    pub help: Option<String>,
}

impl ToolsError {
    /// An error with a reason and no help.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }
}

impl fmt::Debug for OpenTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTools")
            .field("service", &self.service)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

/// A page without tools: it shows plans and takes decisions, but runs nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoTools;

impl NoTools {
    fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, ToolsError>> {
        ready(Err(ToolsError {
            message: "this page cannot run plans".to_owned(),
            help: Some("`planwright ui` does".to_owned()),
        }))
        .boxed()
    }
}

impl PageTools for NoTools {
    fn list(&self, _: bool) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        Self::refused()
    }

    fn open(&self, _: BTreeSet<String>) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        Self::refused()
    }

    fn simulate(&self, _: Value) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        Self::refused()
    }

    fn of_run<'a>(&'a self, _: &'a StoredRun) -> BoxFuture<'a, Result<OpenTools, ToolsError>> {
        Self::refused()
    }

    fn revert<'a>(
        &'a self,
        _: &'a RunId,
        _: &'a StoredRun,
    ) -> BoxFuture<'a, Result<OpenRevert, ToolsError>> {
        Self::refused()
    }

    fn can_run(&self) -> bool {
        false
    }
}
