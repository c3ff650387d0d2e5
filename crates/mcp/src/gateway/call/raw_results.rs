//! Results that reach the client unchanged.
//!
//! `rmcp` converts a result to a type of its own, which drops unknown fields. So the handler puts a result into a slot
//! that came with the request and returns a placeholder, and the writer of the response takes the result from the slot.
//! Over a stream the writer is [`RawResultService`], over HTTP the [transport of a
//! session](crate::gateway::transport::sessions), or else the [body](crate::gateway::transport) of the response.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;
use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientNotification, ClientRequest, CompleteResult,
    CustomResult, ErrorData, Extensions, GetPromptResponse, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ProtocolVersion,
    ReadResourceResponse, ReadResourceResult, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service};

use crate::gateway::handler::service::GatewayHandler;

#[derive(Clone, Debug, Default)]
pub(crate) struct ResultSlot(Arc<Mutex<Option<Value>>>);

impl ResultSlot {
    pub(crate) fn put(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    pub(crate) fn is_empty(&self) -> bool {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.is_none()
    }

    pub(crate) fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub(crate) fn slot(extensions: &Extensions) -> Option<&ResultSlot> {
    let of_http = || extensions.get::<Parts>()?.extensions.get();
    extensions.get().or_else(of_http)
}

/// Puts a result into the slot of its request, and returns a placeholder.
pub(crate) fn deliver<T: PlaceholderResult>(
    context: &RequestContext<RoleServer>,
    result: Value,
) -> Result<T, ErrorData> {
    // Each transport inserts a slot, so this would be a defect of ours.
    let Some(slot) = slot(&context.extensions) else {
        let message = "a request came on a way that has no room for results";
        return Err(ErrorData::internal_error(message, None));
    };
    slot.put(result);
    Ok(T::placeholder())
}

/// A result type of `rmcp`.
pub(crate) trait PlaceholderResult {
    /// Returns the placeholder for the result in the slot.
    fn placeholder() -> Self;
}

/// Implements the trait for types with a default.
macro_rules! plain {
    ($($result:ty),*) => {$(
        impl PlaceholderResult for $result {
            fn placeholder() -> Self {
                Self::default()
            }
        }
    )*};
}

plain!(
    CompleteResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    ListResourcesResult,
    ListToolsResult
);

impl PlaceholderResult for CallToolResponse {
    fn placeholder() -> Self {
        Self::Complete(CallToolResult::default())
    }
}

impl PlaceholderResult for GetPromptResponse {
    fn placeholder() -> Self {
        Self::Complete(GetPromptResult::default())
    }
}

impl PlaceholderResult for ReadResourceResponse {
    fn placeholder() -> Self {
        Self::Complete(ReadResourceResult::new(Vec::new()))
    }
}

/// The service over a stream: a handler whose results bypass the types of `rmcp`.
#[derive(Debug)]
pub(crate) struct RawResultService(pub(crate) GatewayHandler);

impl Service<RoleServer> for RawResultService {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let slot = ResultSlot::default();
        context.extensions.insert(slot.clone());
        let result = Service::handle_request(&self.0, request, context).await?;
        Ok(match slot.take() {
            Some(raw) => ServerResult::CustomResult(CustomResult::new(raw.into())),
            None => result,
        })
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}
