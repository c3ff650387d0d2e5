//! The results of calls, as MCP writes them.
//!
//! The JSON of a response is passed on as it is written, so that its numbers stay exact.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::body::{essence, is_json};
use super::operation::Operation;
use super::response::RESULT_FIELD;

/// A response to the request of an operation.
#[derive(Clone, Debug, Default)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The status with its usual name, such as `404 Not Found`.
    pub status_text: String,
    /// The content type, if the response states one.
    pub content_type: Option<String>,
    /// The address that the response redirects to, if it does.
    pub location: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Returns the JSON text of the `CallToolResult` for a response. A status other than 2xx is an error of the tool.
pub fn call_result(operation: &Operation, response: &HttpResponse) -> String {
    let kind = essence(response.content_type.as_deref().unwrap_or_default());
    let body = &response.body;
    let text = text_of(&kind, body);
    let json = text.as_deref().filter(|text| is_value(&kind, text));
    if !(200..300).contains(&response.status) {
        return error_result(response, text.as_deref(), json);
    }
    let Some(text) = &text else {
        let data = STANDARD.encode(body);
        let block = match kind.split('/').next() {
            Some(media @ ("image" | "audio")) => {
                json!({"type": media, "data": data, "mimeType": kind})
            }
            _ => {
                let uri = format!("openapi:{}", operation.name());
                let mime = if kind.is_empty() {
                    "application/octet-stream"
                } else {
                    &kind
                };
                json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "blob": data}})
            }
        };
        return json!({ "content": [block] }).to_string();
    };
    if text.trim().is_empty() {
        return json!({ "content": [] }).to_string();
    }
    let content = json!([{"type": "text", "text": text}]);
    match (json, operation.output()) {
        (Some(value), Some(output)) if output.is_wrapped => {
            format!(r#"{{"content":{content},"structuredContent":{{"{RESULT_FIELD}":{value}}}}}"#)
        }
        (Some(value), Some(_)) if value.trim_start().starts_with('{') => {
            format!(r#"{{"content":{content},"structuredContent":{value}}}"#)
        }
        _ => format!(r#"{{"content":{content}}}"#),
    }
}

/// Returns the result for a response with another status, with its status and its body as data.
fn error_result(response: &HttpResponse, text: Option<&str>, json: Option<&str>) -> String {
    let text = text.unwrap_or_default().trim();
    let status = response.status;
    let mut message = format!("HTTP {}", response.status_text);
    if let Some(location) = &response.location {
        message.extend([", which redirects to `", location, "`"]);
    }
    if !text.is_empty() {
        message.extend([": ", text]);
    }
    let content = json!([{"type": "text", "text": message}]);
    let body = match json {
        Some(json) => Cow::Borrowed(json),
        None if text.is_empty() => Cow::Borrowed("null"),
        None => Cow::Owned(Value::from(text).to_string()),
    };
    format!(
        r#"{{"content":{content},"structuredContent":{{"status":{status},"body":{body}}},"isError":true}}"#
    )
}

/// Returns a body as text, unless it is binary.
fn text_of<'b>(kind: &str, body: &'b [u8]) -> Option<Cow<'b, str>> {
    let is_stated = is_json(kind)
        || kind.starts_with("text/")
        || kind.ends_with("+xml")
        || matches!(
            kind,
            "application/xml" | "application/x-ndjson" | "application/yaml"
        );
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match std::str::from_utf8(body) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) if is_stated => Some(String::from_utf8_lossy(body)),
        Err(_) => None,
    }
}

/// Returns true if a text is JSON: by its content type, or without one by its first character.
fn is_value(kind: &str, text: &str) -> bool {
    let may_be = is_json(kind) || (kind.is_empty() && text.trim_start().starts_with(['{', '[']));
    may_be && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
