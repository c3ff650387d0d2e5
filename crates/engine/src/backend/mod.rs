//! The interface to tools: traits, calls, outputs and errors, with two simple backends.

mod call;
mod call_clock;
mod functions;
mod result;
mod simulated;

pub use call::{Backends, CallContext, RunData, ToolBackend, ToolCall};
pub use call_clock::{CallClock, ClockPause};
pub use functions::{Function, Functions, Sharable};
pub use futures::future::BoxFuture;
pub use result::{ErrorKind, RetryAdvice, ToolError, ToolOutput};
pub use simulated::{ScriptError, Simulated};
