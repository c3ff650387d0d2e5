//! Calls of the engine, sent to a server behind a gateway, which is started first if it does not run.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use planwright_engine::backend::{ToolBackend, ToolCall, ToolError, ToolOutput};

use super::backend::ServerBackend;
use super::caller::Caller;
use super::upstream::Upstream;
use super::upstream_client::UpstreamClient;

/// Calls the tools of one server.
#[derive(Debug)]
pub(super) struct UpstreamBackend {
    // It keeps the server's follower, which the server itself does not.
    upstream: Arc<Upstream>,
    client: Arc<OnceLock<UpstreamClient>>,
    caller: Option<Arc<dyn Caller>>,
}

impl UpstreamBackend {
    pub(super) fn new(
        upstream: Arc<Upstream>,
        client: Arc<OnceLock<UpstreamClient>>,
        caller: Option<Arc<dyn Caller>>,
    ) -> Self {
        Self {
            upstream,
            client,
            caller,
        }
    }
}

impl ToolBackend for UpstreamBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let server = self.upstream.server_for(&self.client, self.caller.as_ref());
            let backend = ServerBackend::new(server.await?, self.caller.clone());
            backend.call(call).await
        })
    }
}
