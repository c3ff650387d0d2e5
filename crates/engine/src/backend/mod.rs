//! What the engine asks of those who run tools, and what they answer.

mod clock;
mod error;
mod functions;
mod output;
mod router;
mod simulated;

use std::fmt;
use std::sync::Arc;

use planwright_core::{StepId, Tool, Value};

pub use futures::future::BoxFuture;

pub use clock::{CallClock, ClockPause};
pub use error::{ErrorKind, RetryAdvice, ToolError};
pub use functions::{Function, Functions, Sharable};
pub use output::ToolOutput;
pub use router::Backends;
pub use simulated::{ScriptError, Simulated};

/// Runs the tools of one server.
///
/// Dropping the future that [`call`](ToolBackend::call) returned cancels the call: whoever implements this tells the
/// other side so, and leaves nothing behind.
pub trait ToolBackend: Send + Sync + 'static {
    /// Calls a tool once. The arguments have been validated against the tool's schema.
    ///
    /// # Errors
    ///
    /// The tool's own failure, or why it could not be reached. [`ToolError::is_retryable`] says which of them
    /// another attempt may mend.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// One attempt at one call.
#[derive(Clone)]
pub struct ToolCall {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The arguments: an object.
    pub args: Value,
    /// The step that calls.
    pub step: StepId,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The same for every attempt at the same call of the same run, and for no other call.
    pub idempotency_key: Arc<str>,
    /// Measures the time that limits of the call apply to. Restarted by progress, paused by questions to people.
    pub clock: CallClock,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool", &self.tool.qualified_name())
            .field("step", &self.step)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
