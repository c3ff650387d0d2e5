//! Tool backends of servers behind a gateway, which are started on demand.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use planwright_engine::backend::{ToolBackend, ToolCall, ToolError, ToolOutput};

use super::backend::ServerBackend;
use super::caller::Caller;
use super::upstream::Upstream;
use super::upstream_client::UpstreamClient;

/// A backend that calls the tools of one server behind a gateway.
#[derive(Debug)]
pub(super) struct UpstreamBackend {
    // Keeps the observer of the server alive, because the server itself does not.
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
