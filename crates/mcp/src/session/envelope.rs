//! JSON-RPC messages, parsed without `rmcp`'s models; and the outline of an invalid one: the request that it answers,
//! according to its own members.
//!
//! Servers write `NaN`, nest too deeply, or truncate a message. Its result is lost then, but the request that it
//! answers must fail at once instead of running into its timeout. The scan tracks strings and nesting only, so that an
//! `id` within the result is not mistaken for that of the message.

use std::borrow::Cow;
use std::fmt;

use planwright_core::Value;
use planwright_core::text::visible;
use planwright_core::value::number::{oversized_integer, rounded_decimal};
use rmcp::model::RequestId;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::error::UpstreamError;

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

/// Describes a line that is not a message for this client, as a clause whose subject is the server. `shorten` cuts what is quoted of it.
pub(crate) fn describe_stray(line: &[u8], shorten: impl Fn(&str) -> Cow<'_, str>) -> String {
    let answered = match read(line) {
        Some(Envelope {
            id: Some(id),
            method: None,
            result,
            error,
            ..
        }) if result.is_some() != error.is_some() => Some(id.to_string()),
        _ => None,
    };
    let text = answered
        .as_deref()
        .map_or_else(|| String::from_utf8_lossy(line), Cow::Borrowed);
    let text = shorten(text.trim());
    let text = visible(&text);
    match &answered {
        Some(_) => format!("answered the request `{text}`, which was never sent"),
        None => format!("sent a line that is no message of MCP: `{text}`"),
    }
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
    if envelope.result.as_ref().is_some_and(is_call_result) {
        if let Some(number) = oversized_integer(bytes) {
            let reason = format!("its number `{number}` does not fit into 64 bits");
            return Err(serde_json::Error::custom(reason));
        }
        // An error would lose an effect that the tool had, because of a digit that hardly any client could read.
        if let Some(number) = rounded_decimal(bytes) {
            tracing::warn!("a server sent `{number}`, which is rounded to the nearest double");
        }
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

/// The number of bytes at the end of a message in which its id is searched if the scan finds none.
const SUFFIX_LENGTH: usize = 80;

/// The members of a message, as far as they can be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseOutline {
    /// The id of the answered request, if it is readable.
    pub(crate) id: Option<RequestId>,
    is_versioned: bool,
    has_method: bool,
    has_result: bool,
    has_error: bool,
}

impl ResponseOutline {
    /// Scans a message, or the first message of a batch.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut outline = Self::default();
        let text = bytes.trim_ascii_start();
        let batch = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
        let Some(mut rest) = batch.unwrap_or(text).strip_prefix(b"{") else {
            return outline;
        };
        let mut depth = 0_usize;
        let mut is_key_due = true;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            match first {
                b'"' => {
                    let (text, after) = split_string(rest);
                    rest = after;
                    let value = rest.trim_ascii_start().strip_prefix(b":");
                    if let Some(value) = value
                        && depth == 0
                        && is_key_due
                    {
                        outline.add(text, value);
                        is_key_due = false;
                    }
                }
                b'{' | b'[' => depth += 1,
                // This is the end of the first message of a batch.
                b'}' | b']' if depth == 0 => break,
                b'}' | b']' => depth -= 1,
                b',' if depth == 0 => is_key_due = true,
                _ => {}
            }
        }
        if outline.id.is_none() && batch.is_none() {
            outline.id = id_in_suffix(bytes);
        }
        outline
    }

    /// Returns true if the message is the response to the request `id`.
    pub(crate) fn is_response(&self) -> bool {
        !self.has_method && (self.is_versioned || self.has_result || self.has_error)
    }

    /// Returns true if the message must be a response although it has no id. An error without an id may relate to a
    /// notification.
    pub(crate) fn is_response_without_id(&self) -> bool {
        self.id.is_none() && self.is_versioned && !self.has_method && !self.has_error
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"id" => self.id = self.id.take().or_else(|| read_id(value)),
            b"jsonrpc" => self.is_versioned = true,
            b"method" => self.has_method = true,
            b"result" => self.has_result = true,
            // Some servers write a `null` error beside a result.
            b"error" => self.has_error = !value.trim_ascii_start().starts_with(b"null"),
            _ => {}
        }
    }
}

/// Splits after the string whose opening quote is already read. Returns its content and the rest.
fn split_string(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut is_escaped = false;
    let end = bytes.iter().position(|byte| match byte {
        _ if is_escaped => {
            is_escaped = false;
            false
        }
        b'\\' => {
            is_escaped = true;
            false
        }
        byte => *byte == b'"',
    });
    match end {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// Reads the id at the start of a value: a number, or a number as a string.
fn read_id(value: &[u8]) -> Option<RequestId> {
    let end = value
        .iter()
        .position(|byte| matches!(byte, b',' | b'}' | b']'));
    number(std::str::from_utf8(&value[..end.unwrap_or(value.len())]).ok()?)
}

fn number(value: &str) -> Option<RequestId> {
    let digits = value.trim().trim_matches('"');
    // Some servers write an integer as `7.0`.
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    digits.parse().ok().map(RequestId::Number)
}

/// Finds the id of a message with broken strings or brackets. It is searched at the end only, because an `id` within
/// the result belongs to something else.
fn id_in_suffix(line: &[u8]) -> Option<RequestId> {
    const VERSION: &str = r#""jsonrpc":"2.0""#;
    let end = |bytes: &[u8]| -> String {
        let bytes = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
        bytes.map(|byte| char::from(*byte)).collect()
    };
    let tail = end(&line[line.len().saturating_sub(SUFFIX_LENGTH)..]);
    let tail = tail.strip_suffix('}')?;
    let tail = tail
        .strip_suffix(VERSION)
        .and_then(|tail| tail.strip_suffix(','))
        .unwrap_or(tail);
    number(tail.rsplit_once(r#","id":"#)?.1)
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::ResponseOutline;

    /// Returns the id in `line` and the kind of the message.
    fn check(line: &str) -> String {
        let outline = ResponseOutline::of(line.as_bytes());
        let id = match &outline.id {
            Some(RequestId::Number(id)) => id.to_string(),
            Some(RequestId::String(_)) => panic!("{line}"),
            None => "-".to_owned(),
        };
        let kind = if outline.is_response_without_id() {
            "nameless answer"
        } else if outline.is_response() {
            "answer"
        } else {
            "no answer"
        };
        format!("{id} {kind}")
    }

    #[test]
    fn finds_the_request_that_a_broken_message_answers() {
        let cases = [
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#,
            r#"{"jsonrpc": "2.0", "id": "7", "result": {"x": Infinity}}"#,
            r#"{"result":{"id":8,"x":NaN},"jsonrpc":"2.0","id":7}"#,
            r#"{"result":{"x":"},\"id\":8,"},"id":7.0,"y":nan}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":"cut of"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"id":7,"error":{"data":NaN}}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            r#"{"result":{"x":"a "quote" {"},"id":7}"#,
            r#"{"jsonrpc":"2.0","result":{"id":8,"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"data":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"x":NaN}}"#,
            r#"{"params":{"x":NaN},"method":"notifications/progress","jsonrpc":"2.0"}"#,
            r#"{"result":{"x":NaN,"id":8}}"#,
            r#"{"id":7,"level":NaN}"#,
            r#"{"level":"error","error":NaN}"#,
            "{'jsonrpc': '2.0'}",
            "[",
            "{",
            "}",
            "",
        ];
        let lines = cases.map(|line| format!("{} <- {line}", check(line)));
        insta::assert_snapshot!(lines.join("\n"), @r#"
        7 answer <- {"jsonrpc":"2.0","id":7,"result":{"x":NaN}}
        7 answer <- {"jsonrpc": "2.0", "id": "7", "result": {"x": Infinity}}
        7 answer <- {"result":{"id":8,"x":NaN},"jsonrpc":"2.0","id":7}
        7 answer <- {"result":{"x":"},\"id\":8,"},"id":7.0,"y":nan}
        7 answer <- {"jsonrpc":"2.0","id":7,"result":{"x":"cut of
        7 answer <- {"jsonrpc":"2.0","id":7}
        7 answer <- {"id":7,"error":{"data":NaN}}
        7 answer <- [{"jsonrpc":"2.0","id":7,"result":{}}]
        7 answer <- {"result":{"x":"a "quote" {"},"id":7}
        - nameless answer <- {"jsonrpc":"2.0","result":{"id":8,"x":NaN}}
        - nameless answer <- {"jsonrpc":"2.0","id":null,"result":{"x":NaN}}
        - answer <- {"jsonrpc":"2.0","id":null,"error":{"data":NaN}}
        7 no answer <- {"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"x":NaN}}
        - no answer <- {"params":{"x":NaN},"method":"notifications/progress","jsonrpc":"2.0"}
        - answer <- {"result":{"x":NaN,"id":8}}
        7 no answer <- {"id":7,"level":NaN}
        - answer <- {"level":"error","error":NaN}
        - no answer <- {'jsonrpc': '2.0'}
        - no answer <- [
        - no answer <- {
        - no answer <- }
        - no answer <-
        "#);
    }
}
