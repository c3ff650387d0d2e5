//! The server: its tools, and the execution of a call on a thread that may block.

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Tool;
use planwright_engine::backend::RetryAdvice;
use planwright_engine::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::confine::Folder;
use super::tool::WorkspaceTool;
use super::{count_lines, list_files, read_file, search_text, write_file};

const TOOLS: &[&WorkspaceTool] = &[
    &list_files::TOOL,
    &read_file::TOOL,
    &search_text::TOOL,
    &count_lines::TOOL,
    &write_file::TOOL,
];

/// Tools for the files of one folder. No file outside of the folder is accessible. The operating system resolves every path relative
/// to a handle of the folder, so that neither `..` nor a link leads out, not even a link that is created while a call is in flight.
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
    /// Fails if it cannot be opened.
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
