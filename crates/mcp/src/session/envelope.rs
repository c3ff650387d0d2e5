//! JSON-RPC messages, parsed without `rmcp`'s models.

use std::borrow::Cow;
use std::fmt;

use planwright_core::Value;
use planwright_core::value::number::oversized_integer;
use rmcp::model::RequestId;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::caller::UpstreamError;

/// The members of a JSON-RPC message, unchanged.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) id: Option<RequestId>,
    pub(crate) method: Option<String>,
    pub(crate) params: Option<Value>,
    pub(crate) result: Option<Value>,
    pub(crate) error: Option<Value>,
}

/// Parses a message. Returns `None` if it is unreadable.
pub(crate) fn read(bytes: &[u8]) -> Option<Envelope> {
    parse(bytes).ok()
}

/// Returns the reason why a message is not a readable response, as one clause.
pub(crate) fn unreadable_reason(bytes: &[u8]) -> String {
    let reason = match parse(bytes) {
        Err(error) => return json_error_message(&error),
        Ok(Envelope {
            result: Some(_),
            error: Some(_),
            ..
        }) => "it has both a result and an error",
        Ok(Envelope {
            result: None,
            error: None,
            ..
        }) => "it has neither a result nor an error",
        Ok(_) => "it does not say which request it answers",
    };
    reason.to_owned()
}

fn parse(bytes: &[u8]) -> Result<Envelope, serde_json::Error> {
    let mut envelope: Envelope = serde_json::from_slice(bytes)?;
    // As in JSON-RPC 1.0, some servers write both members and set one to `null`.
    envelope.error.take_if(|error| error.is_null());
    if envelope.error.is_some() {
        envelope.result.take_if(|result| result.is_null());
    }
    // Numbers in the output of a tool must not be rounded. Lists are exempt, because schemas in them may have large
    // bounds.
    if envelope.result.as_ref().is_some_and(is_call_result)
        && let Some(number) = oversized_integer(bytes)
    {
        let reason = format!("its number `{number}` does not fit into 64 bits");
        return Err(serde_json::Error::custom(reason));
    }
    Ok(envelope)
}

/// Returns true if `result` is that of a call, not of a list or handshake request.
fn is_call_result(result: &Value) -> bool {
    let lists = [
        "tools",
        "prompts",
        "resources",
        "resourceTemplates",
        "capabilities",
    ];
    result
        .as_object()
        .is_some_and(|fields| !lists.iter().any(|list| fields.contains_key(*list)))
}

/// Converts an error object. Any other value becomes the message of an error.
pub(crate) fn to_upstream_error(error: Value) -> UpstreamError {
    let code = error.get("code").and_then(|code| match code {
        Value::Number(number) => number.as_i64(),
        _ => None,
    });
    let message = error.get("message").and_then(Value::as_text);
    UpstreamError {
        code: code.unwrap_or(UpstreamError::UNAVAILABLE),
        message: message.map_or_else(|| error.to_json(), str::to_owned),
        data: error.get("data").cloned(),
    }
}

/// Normalizes an id: some servers return a number as a string.
pub(crate) fn canonical_id(id: RequestId) -> RequestId {
    match &id {
        RequestId::String(text) => text.parse().map_or(id, RequestId::Number),
        RequestId::Number(_) => id,
    }
}

/// Returns the message of a JSON error without its position.
pub(crate) fn json_error_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;

        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Envelope, A::Error> {
                let mut envelope = Envelope {
                    id: None,
                    method: None,
                    params: None,
                    result: None,
                    error: None,
                };
                // A derived implementation would read a `null` result as a missing one.
                while let Some(key) = access.next_key::<Cow<'de, str>>()? {
                    match &*key {
                        "id" => envelope.id = access.next_value()?,
                        "method" => envelope.method = access.next_value()?,
                        "params" => envelope.params = Some(access.next_value()?),
                        "result" => envelope.result = Some(access.next_value()?),
                        "error" => envelope.error = Some(access.next_value()?),
                        _ => {
                            access.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(EnvelopeVisitor)
    }
}
