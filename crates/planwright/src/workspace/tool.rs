//! The common parts of the tools: their definitions, and the reading of arguments.

use planwright_core::{Hints, Schema, Tool, Value};
use planwright_engine::{ErrorKind, ToolError};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::confine::Folder;

/// A tool of the server.
pub(super) struct WorkspaceTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) effect: ToolEffect,
    /// The JSON Schema of the arguments.
    pub(super) input: fn() -> serde_json::Value,
    /// The JSON Schema of the output.
    pub(super) output: fn() -> serde_json::Value,
    /// Does the work, on a thread that may block, until it is done or cancelled.
    pub(super) run: fn(&Folder, &Value, &CancellationToken) -> Result<Value, ToolError>,
}

/// The effect of a tool on the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// No effect.
    Reads,
    /// May replace existing content.
    Writes,
}

impl WorkspaceTool {
    /// The tool as a catalog lists it.
    pub(super) fn describe(&self, server: &str) -> Tool {
        let writes = self.effect == ToolEffect::Writes;
        let hints = Hints {
            read_only: Some(!writes),
            destructive: Some(writes),
            idempotent: Some(true),
            open_world: Some(false),
        };
        Tool {
            title: Some(self.title.into()),
            description: Some(self.description.into()),
            input: Schema::from_value((self.input)().into()),
            output: Schema::from_value((self.output)().into()),
            annotations: hints.annotations(true),
            hints,
            approval: writes,
            approval_reason: writes.then(|| "it may replace what a file holds".into()),
            ..Tool::new(server, self.name)
        }
    }
}

/// Reads a tool's arguments.
///
/// # Errors
///
/// Invalid arguments, which the schema did not check.
pub(super) fn arguments<T: DeserializeOwned>(args: &Value) -> Result<T, ToolError> {
    serde_json::from_value(args.into())
        .map_err(|error| ToolError::new(ErrorKind::Arguments, error.to_string()))
}
