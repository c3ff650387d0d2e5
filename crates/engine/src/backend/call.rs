//! Calls of tools: the trait of backends, one attempt at a call with its context, and backends by server.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::{Hashing, StepId, Tool, Value};

use super::ErrorKind;
use super::call_clock::CallClock;
use super::result::{ToolError, ToolOutput};

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

/// Data of the caller that all calls of one run can read, such as a tenant or a connection. Plans cannot see or change it.
#[derive(Clone, Default)]
pub struct RunData(Option<Arc<dyn Any + Send + Sync>>);

impl RunData {
    /// Wraps a value.
    pub fn new(value: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(value)))
    }

    /// The value, if it has the type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0
            .as_deref()
            .and_then(<dyn Any + Send + Sync>::downcast_ref)
    }
}

impl fmt::Debug for RunData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value may hold secrets, and need not be printable.
        f.debug_tuple("RunData").field(&self.0.is_some()).finish()
    }
}

/// The context of one attempt at a call: the run, the step, and the caller's data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallContext {
    /// The run's id.
    pub run: Arc<str>,
    /// The calling step.
    pub step: StepId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// A key shared by all attempts at the same call of the same run, and by no other call.
    pub idempotency_key: Arc<str>,
    /// The time after which the attempt is abandoned; `None` if it is not limited.
    pub time_limit: Option<Duration>,
    /// The caller's data of this run.
    pub data: RunData,
}

impl CallContext {
    /// The context of a call outside of any run: the first attempt of `step`, without a time limit.
    pub fn new(step: impl Into<StepId>, idempotency_key: impl Into<Arc<str>>) -> Self {
        Self {
            run: Arc::from(""),
            step: step.into(),
            attempt: 1,
            idempotency_key: idempotency_key.into(),
            time_limit: None,
            data: RunData::default(),
        }
    }
}

/// Backends by server name; a backend itself.
#[derive(Clone, Default)]
pub struct Backends {
    by_server: HashMap<Arc<str>, Arc<dyn ToolBackend>, Hashing>,
}

impl Backends {
    /// Creates a router without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Routes the calls of `server` to `backend`.
    pub fn with(mut self, server: impl Into<Arc<str>>, backend: impl ToolBackend) -> Self {
        self.add(server, Arc::new(backend));
        self
    }

    /// Routes the calls of `server` to `backend`.
    pub fn add(&mut self, server: impl Into<Arc<str>>, backend: Arc<dyn ToolBackend>) {
        self.by_server.insert(server.into(), backend);
    }

    /// Adds the servers of `other`, which replace servers of the same name.
    pub fn join(&mut self, other: Backends) {
        self.by_server.extend(other.by_server);
    }
}

impl ToolBackend for Backends {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        match self.by_server.get(&call.tool.server) {
            Some(backend) => backend.call(call),
            None => {
                let message = format!("no server `{}` is connected", call.tool.server);
                Box::pin(async move { Err(ToolError::new(ErrorKind::Unavailable, message)) })
            }
        }
    }
}

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_server.keys()).finish()
    }
}
