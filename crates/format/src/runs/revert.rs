//! The calls that a revert would undo, and those that it would not.

use std::sync::Arc;

use planwright_core::{ToolName, Value};
use planwright_engine::RunId;
use serde::Serialize;

/// The schema's name and version.
pub const REVERT_SCHEMA: &str = "planwright.revert/1";

/// The undos of a run, before any of them is called.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RevertV1 {
    /// [`REVERT_SCHEMA`].
    pub schema: &'static str,
    /// The run to revert.
    #[cfg_attr(test, schemars(with = "String"))]
    pub run: RunId,
    /// The calls that undo it, in their order.
    pub undos: Vec<UndoV1>,
    /// The calls that happened and have no undo.
    pub unreverted: Vec<UnrevertedV1>,
    /// The calls in doubt: they may or may not have happened, or be undone.
    pub in_doubt: Vec<InDoubtV1>,
    /// The number of calls that earlier reverts have undone.
    pub undone_before: usize,
}

/// A call that undoes another one.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct UndoV1 {
    /// The step that makes it.
    pub step: String,
    /// The step, item or round whose call it undoes.
    pub call: String,
    /// The tool of that call.
    #[cfg_attr(test, schemars(with = "String"))]
    pub called: ToolName,
    /// The tool that undoes it.
    #[cfg_attr(test, schemars(with = "String"))]
    pub tool: Arc<str>,
    /// The arguments.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub args: Value,
}

/// A call that happened and has no undo.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct UnrevertedV1 {
    /// The step, item or round.
    pub call: String,
    /// The tool.
    #[cfg_attr(test, schemars(with = "String"))]
    pub tool: ToolName,
    /// The reason why its undo cannot be called; `null` if it has none.
    pub reason: Option<String>,
}

/// A call in doubt.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct InDoubtV1 {
    /// The step, item or round.
    pub call: String,
    /// The tool.
    #[cfg_attr(test, schemars(with = "String"))]
    pub tool: ToolName,
    /// The run that called its undo, if it is that call whose outcome is unknown.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub undone_by: Option<RunId>,
}
