//! What a message is, looked at without `rmcp`'s models.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use planwright_core::Value;
use rmcp::model::RequestId;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::caller::UpstreamError;

/// How far from its ends a message is searched for its id, in bytes.
const END_LENGTH: usize = 80;

/// The parts of a JSON-RPC message, each as it came.
#[derive(Debug)]
pub(super) struct Envelope<T> {
    pub(super) id: Option<RequestId>,
    pub(super) method: Option<String>,
    pub(super) params: Option<T>,
    pub(super) result: Option<T>,
    pub(super) error: Option<T>,
}

/// Reads a message that is sound.
pub(super) fn read(bytes: &[u8]) -> Option<Envelope<Value>> {
    serde_json::from_slice(bytes).ok()
}

/// What is wrong with the result in a message that cannot be read, and whose it is, where that can be told.
pub(super) fn read_fault(bytes: &[u8]) -> Option<(RequestId, String)> {
    let fault = json_fault(&serde_json::from_slice::<Envelope<Value>>(bytes).err()?);
    let id = match serde_json::from_slice::<Envelope<IgnoredAny>>(bytes) {
        // The message as such is sound.
        Ok(Envelope { id, result, .. }) => {
            result?;
            canonical(id?)
        }
        Err(_) => id_at_an_end(bytes)?,
    };
    Some((id, fault))
}

/// An error as it came. One that is none still says what it is.
pub(super) fn error(error: Value) -> UpstreamError {
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

/// Some servers give a number back as a text.
pub(super) fn canonical(id: RequestId) -> RequestId {
    match &id {
        RequestId::String(text) => text.parse().map_or(id, RequestId::Number),
        RequestId::Number(_) => id,
    }
}

/// The id of a message that is no JSON. It is looked for at the two ends, where servers write it: within the result it
/// would be somebody else's.
fn id_at_an_end(line: &[u8]) -> Option<RequestId> {
    const VERSION: &str = r#""jsonrpc":"2.0""#;
    let end = |bytes: &[u8]| -> String {
        let bytes = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
        bytes.map(|byte| char::from(*byte)).collect()
    };
    let length = line.len().min(END_LENGTH);
    let head = end(&line[..length]);
    let head = head.strip_prefix('{')?;
    let head = head
        .strip_prefix(VERSION)
        .and_then(|head| head.strip_prefix(','))
        .unwrap_or(head);
    let number = match head.strip_prefix(r#""id":"#) {
        Some(id) => id.split_once(',')?.0.to_owned(),
        None => {
            let tail = end(&line[line.len() - length..]);
            let tail = tail.strip_suffix('}')?;
            let tail = tail
                .strip_suffix(VERSION)
                .and_then(|tail| tail.strip_suffix(','))
                .unwrap_or(tail);
            tail.rsplit_once(r#","id":"#)?.1.to_owned()
        }
    };
    number.trim_matches('"').parse().ok().map(RequestId::Number)
}

/// The reader's words without the place that it appends to them, which nobody can look at.
fn json_fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Envelope<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EnvelopeVisitor<T> {
            type Value = Envelope<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Envelope<T>, A::Error> {
                let mut envelope = Envelope {
                    id: None,
                    method: None,
                    params: None,
                    result: None,
                    error: None,
                };
                // A derived reader would make nothing of a result that is `null`.
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

        deserializer.deserialize_map(EnvelopeVisitor(PhantomData))
    }
}
