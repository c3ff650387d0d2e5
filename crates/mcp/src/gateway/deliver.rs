//! Results that reach the client as they are.
//!
//! `rmcp` hands a result on as a type of its own, which loses what that type does not know. So a result goes past it: it is put into
//! a slot that came with the request, and whoever writes the answer takes it from there. Over a stream that is [`Raw`](super::raw::Raw),
//! over HTTP the [transport of a session](super::sessions), or else the [body](super::http) of the answer.

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

/// Where a result is put that is to reach the client as it is.
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

/// The slot that came with a request.
pub(super) fn slot(extensions: &Extensions) -> Option<&Slot> {
    let of_http = || extensions.get::<Parts>()?.extensions.get();
    extensions.get().or_else(of_http)
}

/// Hands a result on, past its type.
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

/// A result as `rmcp` has it.
pub(super) trait Reply {
    /// What stands in the place of one that goes past the type.
    fn placeholder() -> Self;
}

/// Results of one kind alone.
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
