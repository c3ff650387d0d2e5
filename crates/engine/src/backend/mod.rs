//! The interface to tools: traits, calls, outputs and errors, with two simple backends.

mod call_clock;
mod context;
mod error;
mod functions;
mod output;
mod router;
mod simulated;

use std::fmt;
use std::sync::Arc;

use planwright_core::{Tool, Value};

pub use futures::future::BoxFuture;

pub use call_clock::{CallClock, ClockPause};
pub use context::{CallContext, RunData};
pub use error::{ErrorKind, RetryAdvice, ToolError};
pub use functions::{Function, Functions, Sharable};
pub use output::ToolOutput;
pub use router::Backends;
pub use simulated::{ScriptError, Simulated};

/// Runs the tools of one server.
///
/// Dropping the future that [`call`](ToolBackend::call) returned cancels the call: an implementation notifies the
/// server and leaves nothing behind.
pub trait ToolBackend: Send + Sync + 'static {
    /// Calls a tool once. The arguments have been validated against the tool's schema.
    ///
    /// # Errors
    ///
    /// The tool's own error, or the reason why it could not be reached. [`ToolError::is_retryable`] tells them apart.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// An attempt at a call.
#[derive(Clone)]
pub struct ToolCall {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The arguments, an object.
    pub args: Value,
    /// The run, the step, and the caller's data.
    pub context: CallContext,
    /// The clock that time limits of the call apply to. Progress restarts it, questions to people pause it.
    pub clock: CallClock,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool", &self.tool.qualified_name())
            .field("step", &self.context.step)
            .field("attempt", &self.context.attempt)
            .finish_non_exhaustive()
    }
}
