//! Calls of the engine, sent to a server behind a gateway, which is started first if it does not run.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_engine::backend::{ToolBackend, ToolCall, ToolError, ToolOutput};

use super::backend::ServerBackend;
use super::caller::Caller;
use super::upstream::Upstream;

/// Calls the tools of one server.
#[derive(Debug)]
pub(super) struct UpstreamBackend {
    // It keeps the server's follower, which the server itself does not.
    upstream: Arc<Upstream>,
    capabilities: Arc<OnceLock<Value>>,
    backend: ServerBackend,
}

impl UpstreamBackend {
    pub(super) fn new(
        upstream: Arc<Upstream>,
        capabilities: Arc<OnceLock<Value>>,
        caller: Option<Arc<dyn Caller>>,
    ) -> Self {
        Self {
            backend: ServerBackend::new(Arc::clone(&upstream.server), caller),
            upstream,
            capabilities,
        }
    }
}

impl ToolBackend for UpstreamBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.upstream.introduce(self.capabilities.get());
        self.backend.call(call)
    }
}
