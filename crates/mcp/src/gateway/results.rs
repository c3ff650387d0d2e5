//! Results that reach the client unchanged, apart from what the client's revision requires.
//!
//! `rmcp` converts a result to a type of its own, which drops unknown fields. So the handler puts a result into a slot
//! that came with the request and returns a placeholder, and the writer of the response takes the result from the slot.
//! Over a stream the writer is its [service](crate::gateway::transport), over HTTP the [transport of a
//! session](crate::gateway::transport::sessions), or else the [body](crate::gateway::transport) of the response.

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

use super::client::GatewayClient;
use crate::session::error::UpstreamError;

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
    // Each transport inserts a slot, so a missing slot is a defect of this crate.
    let Some(slot) = slot(&context.extensions) else {
        let message = "a request has no result slot";
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

/// Converts a result to the client's revision: only since 2026-07-28 results have a `resultType`.
pub(crate) fn convert_result(result: Value, client: &GatewayClient) -> Value {
    let Value::Object(fields) = &result else {
        return result;
    };
    let kind = fields.get("resultType").and_then(Value::as_text);
    match (client.receives_requests(), kind) {
        (true, Some("complete")) => {
            let mut fields = (**fields).clone();
            fields.shift_remove("resultType");
            Value::from(fields)
        }
        (false, None) => {
            let mut fields = (**fields).clone();
            fields.insert("resultType".into(), Value::from("complete"));
            Value::from(fields)
        }
        _ => result,
    }
}

/// Sets the cache fields of a list or resource that the server has left out: no caching, so that a client without
/// change notifications gets current data.
pub(crate) fn with_cache_fields(result: Value, client: &GatewayClient) -> Value {
    let Value::Object(fields) = &result else {
        return result;
    };
    let mut fields = (**fields).clone();
    if client.receives_requests() {
        // Both fields exist since revision 2026-07-28.
        fields.shift_remove("ttlMs");
        fields.shift_remove("cacheScope");
    } else {
        fields
            .entry("ttlMs".into())
            .or_insert_with(|| Value::from(0_u64));
        fields
            .entry("cacheScope".into())
            .or_insert_with(|| Value::from("private"));
    }
    Value::from(fields)
}

impl From<UpstreamError> for ErrorData {
    fn from(error: UpstreamError) -> Self {
        // A server may send any integer, for which `rmcp` has 32 bits.
        let code = i32::try_from(error.code).unwrap_or(rmcp::model::ErrorCode::INTERNAL_ERROR.0);
        Self::new(
            rmcp::model::ErrorCode(code),
            error.message,
            error.data.map(serde_json::Value::from),
        )
    }
}

impl From<ErrorData> for UpstreamError {
    fn from(error: ErrorData) -> Self {
        Self {
            code: i64::from(error.code.0),
            message: error.message.into_owned(),
            data: error.data.map(Value::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::super::client::{ClientId, GatewayClient};
    use super::{convert_result, with_cache_fields};

    fn check(revision: &str, input: &str, expected: &str) {
        let client = GatewayClient {
            revision: revision.to_owned(),
            ..GatewayClient::new(ClientId::local())
        };
        let input = Value::from_json(input).unwrap();
        let converted = with_cache_fields(convert_result(input, &client), &client);
        assert_eq!(converted.to_json(), expected, "{revision}");
    }

    #[test]
    fn writes_results_as_each_revision_has_them() {
        let old = r#"{"tools":[],"x":1}"#;
        let new = r#"{"tools":[],"x":1,"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;
        check("2025-06-18", old, old);
        check("2025-11-25", new, old);
        check("2026-07-28", old, new);
        check("2026-07-28", new, new);
        let unchanged = r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public"}"#;
        check("2026-07-28", unchanged, unchanged);
    }
}
