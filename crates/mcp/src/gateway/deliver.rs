//! Results that reach the client unchanged.
//!
//! `rmcp` converts a result to a type of its own, which drops unknown fields. So the handler puts a result into a slot
//! that came with the request and returns a placeholder, and the writer of the response takes the result from the slot.
//! Over a stream the writer is [`RawResultService`], over HTTP the [transport of a session](super::sessions), or else
//! the [body](super::http) of the response.

use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;
use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, CompleteResult, ErrorData, Extensions, GetPromptResponse,
    GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, ReadResourceResponse, ReadResourceResult,
};
use rmcp::service::RequestContext;

/// A slot for the result of one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot(Arc<Mutex<Option<Value>>>);

impl Slot {
    pub(super) fn put(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    pub(super) fn is_empty(&self) -> bool {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.is_none()
    }

    pub(super) fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns the slot of a request.
pub(super) fn slot(extensions: &Extensions) -> Option<&Slot> {
    let of_http = || extensions.get::<Parts>()?.extensions.get();
    extensions.get().or_else(of_http)
}

/// Puts a result into the slot of its request, and returns a placeholder.
pub(super) fn deliver<T: Reply>(
    context: &RequestContext<RoleServer>,
    result: Value,
) -> Result<T, ErrorData> {
    let Some(slot) = slot(&context.extensions) else {
        let message = "a request came on a way that has no room for results";
        return Err(ErrorData::internal_error(message, None));
    };
    slot.put(result);
    Ok(T::placeholder())
}

/// A result type of `rmcp`.
pub(super) trait Reply {
    /// Returns the placeholder for the result in the slot.
    fn placeholder() -> Self;
}

/// Implements the trait for types with a default.
macro_rules! plain {
    ($($result:ty),*) => {$(
        impl Reply for $result {
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

impl Reply for CallToolResponse {
    fn placeholder() -> Self {
        Self::Complete(CallToolResult::default())
    }
}

impl Reply for GetPromptResponse {
    fn placeholder() -> Self {
        Self::Complete(GetPromptResult::default())
    }
}

impl Reply for ReadResourceResponse {
    fn placeholder() -> Self {
        Self::Complete(ReadResourceResult::new(Vec::new()))
    }
}
