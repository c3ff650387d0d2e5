//! Results that reach the client as they are.
//!
//! `rmcp` hands a result on as a type of its own, which loses what that type does not know. Where [`Raw`](super::raw::Raw)
//! serves, a result goes past it; where it cannot, through the type.

use std::sync::{Arc, Mutex, PoisonError};

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, CompleteResult, ErrorData, GetPromptResponse,
    GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, ReadResourceResponse, ReadResourceResult,
};
use rmcp::service::RequestContext;
use serde_json::{Error, from_value};

/// Where a result is put that is to reach the client as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot(Arc<Mutex<Option<Value>>>);

impl Slot {
    pub(super) fn put(&self, result: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    pub(super) fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Hands a result on: past the type where that is possible.
pub(super) fn deliver<T: Reply>(
    context: &RequestContext<RoleServer>,
    result: Value,
) -> Result<T, ErrorData> {
    if let Some(slot) = context.extensions.get::<Slot>() {
        slot.put(result);
        return Ok(T::placeholder());
    }
    T::read(result.into()).map_err(|error| {
        ErrorData::internal_error(format!("the result cannot be passed on: {error}"), None)
    })
}

/// A result as `rmcp` has it.
pub(super) trait Reply: Sized {
    /// What stands in the place of one that goes past the type.
    fn placeholder() -> Self;

    /// Reads one of whichever kind.
    fn read(result: serde_json::Value) -> Result<Self, Error>;
}

/// Results of one kind alone.
macro_rules! plain {
    ($($result:ty),*) => {$(
        impl Reply for $result {
            fn placeholder() -> Self {
                Self::default()
            }

            fn read(result: serde_json::Value) -> Result<Self, Error> {
                from_value(result)
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

    fn read(result: serde_json::Value) -> Result<Self, Error> {
        match kind(&result) {
            "input_required" => from_value(result).map(Self::InputRequired),
            "task" => from_value(result).map(Self::Task),
            _ => from_value(result).map(Self::Complete),
        }
    }
}

impl Reply for GetPromptResponse {
    fn placeholder() -> Self {
        Self::Complete(GetPromptResult::default())
    }

    fn read(result: serde_json::Value) -> Result<Self, Error> {
        match kind(&result) {
            "input_required" => from_value(result).map(Self::InputRequired),
            _ => from_value(result).map(Self::Complete),
        }
    }
}

impl Reply for ReadResourceResponse {
    fn placeholder() -> Self {
        Self::Complete(ReadResourceResult::new(Vec::new()))
    }

    fn read(result: serde_json::Value) -> Result<Self, Error> {
        match kind(&result) {
            "input_required" => from_value(result).map(Self::InputRequired),
            _ => from_value(result).map(Self::Complete),
        }
    }
}

fn kind(result: &serde_json::Value) -> &str {
    result
        .get("resultType")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("complete")
}
