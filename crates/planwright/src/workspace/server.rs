//! The server: its tools, their common parts, and the execution of a call on a thread that may block.

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Hints, Schema, Tool, Value};
use planwright_engine::backend::RetryAdvice;
use planwright_engine::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::confine::Folder;
use super::{count_lines, list_files, read_file, search_text, write_file};

const TOOLS: &[&WorkspaceTool] = &[
    &list_files::TOOL,
    &read_file::TOOL,
    &search_text::TOOL,
    &count_lines::TOOL,
    &write_file::TOOL,
];

/// Tools for the files of one folder.
/// No file outside of the folder is accessible. The operating system resolves every path relative to a handle of the folder, so that
/// neither
/// `..` nor a link leads out, not even a link that is created while a call is in flight.
#[derive(Clone, Debug)]
pub struct Workspace {
    folder: Arc<Folder>,
}

impl Workspace {
    /// The server's name, as plans write it before the dot.
    pub const NAME: &'static str = "workspace";

    /// Opens the folder at `root`.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: Arc::new(Folder::open(root)?),
        })
    }

    /// The tools. Their annotations can be trusted; the one that writes asks first.
    pub fn tools(&self) -> Vec<Tool> {
        TOOLS.iter().map(|tool| tool.describe(Self::NAME)).collect()
    }
}

impl ToolBackend for Workspace {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let folder = Arc::clone(&self.folder);
        Box::pin(async move {
            let Some(tool) = TOOLS.iter().find(|tool| *tool.name == *call.tool.name) else {
                let message = format!("there is no tool `{}`", call.tool.name);
                return Err(ToolError::new(ErrorKind::Unavailable, message));
            };
            // When the caller drops this future, the guard tells the thread to stop at the next file.
            let stop = CancellationToken::new();
            let _guard = stop.clone().drop_guard();
            let work = tokio::task::spawn_blocking(move || (tool.run)(&folder, &call.args, &stop));
            match work.await {
                Ok(result) => result.map(ToolOutput::value),
                Err(error) => {
                    let message = format!("`{}` failed: {error}", tool.name);
                    Err(ToolError {
                        retry: RetryAdvice::Uncertain,
                        ..ToolError::new(ErrorKind::Internal, message)
                    })
                }
            }
        })
    }
}

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
