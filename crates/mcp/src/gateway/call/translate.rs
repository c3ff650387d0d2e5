//! Conversion of results between revisions.

use planwright_core::Value;
use rmcp::model::ErrorData;

use crate::gateway::client::GatewayClient;
use crate::session::caller::UpstreamError;

/// Converts a result to the client's revision: only since 2026-07-28 results have a `resultType`.
pub(crate) fn result(result: Value, client: &GatewayClient) -> Value {
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
pub(crate) fn cacheable(result: Value, client: &GatewayClient) -> Value {
    let Value::Object(fields) = &result else {
        return result;
    };
    let mut fields = (**fields).clone();
    if client.receives_requests() {
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

    use super::{cacheable, result};
    use crate::gateway::client::{ClientId, GatewayClient};

    fn check(revision: &str, given: &str, expected: &str) {
        let client = GatewayClient {
            revision: revision.to_owned(),
            ..GatewayClient::new(ClientId::local())
        };
        let given = Value::from_json(given).unwrap();
        let translated = cacheable(result(given, &client), &client);
        assert_eq!(translated.to_json(), expected, "{revision}");
    }

    #[test]
    fn writes_results_as_each_revision_has_them() {
        let old = r#"{"tools":[],"x":1}"#;
        let new = r#"{"tools":[],"x":1,"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;
        check("2025-06-18", old, old);
        check("2025-11-25", new, old);
        check("2026-07-28", old, new);
        check("2026-07-28", new, new);
        let kept = r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public"}"#;
        check("2026-07-28", kept, kept);
    }
}
