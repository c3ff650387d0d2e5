//! The interface to tools: traits, calls, outputs and errors, with two simple backends.

mod call;
mod functions;
mod idempotency_key;
mod result;
mod simulated;

pub use call::{
    Backends, CallClock, CallContext, CallProgress, ClockPause, RunData, ToolBackend, ToolCall,
};
pub use functions::{Function, Functions, Sharable};
pub use futures::future::BoxFuture;
pub(crate) use idempotency_key::IdempotencyKey;
pub use result::{ErrorKind, RetryAdvice, ToolError, ToolOutput};
pub use simulated::{ScriptError, Simulated};
