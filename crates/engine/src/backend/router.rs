//! Routing of calls to the backend of each server.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Hashing;

use super::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

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
