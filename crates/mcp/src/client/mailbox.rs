//! Results that bypass `rmcp`'s models.
//!
//! `rmcp` reads a result by trying some twenty shapes one after the other on a buffered copy, and keeps of a tool's
//! result only the kinds of content that it knows. A result may be large, and must arrive as it was sent. So the
//! results of listing and calling tools are read here once, straight into a shared value; `rmcp` still gives out the
//! request ids, and is told that an empty result arrived.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright_core::Value;
use rmcp::model::RequestId;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The requests whose results are wanted as they are, and the results that have come.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    // A plain mutex: it is held for one look-up, and never across a wait.
    wanted: Mutex<HashMap<RequestId, Option<Delivery>>>,
}

/// How far from its ends a message is searched for its id, in bytes.
const END_LENGTH: usize = 80;

/// A result, or why it could not be read.
pub(super) type Delivery = Result<Value, String>;

impl Mailbox {
    /// The result of the request `id` is wanted.
    pub(super) fn expect(&self, id: RequestId) {
        self.wanted().insert(id, None);
    }

    /// It is not wanted any more.
    pub(super) fn forget(&self, id: &RequestId) {
        self.wanted().remove(id);
    }

    /// The result of the request `id`, once.
    pub(super) fn take(&self, id: &RequestId) -> Option<Delivery> {
        self.wanted().remove(id).flatten()
    }

    /// Keeps the result in `line`, if it is one that is wanted and can be read, and says whose it is.
    pub(super) fn deliver(&self, line: &[u8]) -> Option<RequestId> {
        if self.wanted().is_empty() {
            return None;
        }
        let response: Response<Value> = serde_json::from_slice(line).ok()?;
        self.keep(response.id?, Ok(response.result?))
    }

    /// Keeps why the result in `line` cannot be read, and says whose it is, where that can be told.
    pub(super) fn deliver_fault(&self, line: &[u8]) -> Option<RequestId> {
        let fault = json_fault(&serde_json::from_slice::<Response<Value>>(line).err()?);
        match serde_json::from_slice::<Response<IgnoredAny>>(line) {
            // The message as such is sound.
            Ok(Response { id, result }) => {
                result?;
                self.keep(id?, Err(fault))
            }
            Err(_) => self.keep(id_at_an_end(line)?, Err(fault)),
        }
    }

    fn keep(&self, id: RequestId, delivery: Delivery) -> Option<RequestId> {
        let id = canonical(id);
        *self.wanted().get_mut(&id)? = Some(delivery);
        Some(id)
    }

    fn wanted(&self) -> MutexGuard<'_, HashMap<RequestId, Option<Delivery>>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Some servers give a number back as a text.
fn canonical(id: RequestId) -> RequestId {
    match &id {
        RequestId::String(text) => text.parse().map_or(id, RequestId::Number),
        RequestId::Number(_) => id,
    }
}

/// What is looked at of a message: both are there in a successful response alone.
struct Response<T> {
    id: Option<RequestId>,
    result: Option<T>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Response<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ResponseVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ResponseVisitor<T> {
            type Value = Response<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Response<T>, A::Error> {
                let mut response = Response {
                    id: None,
                    result: None,
                };
                // A derived reader would make nothing of a result that is `null`.
                while let Some(key) = access.next_key::<std::borrow::Cow<'de, str>>()? {
                    match &*key {
                        "id" => response.id = access.next_value()?,
                        "result" => response.result = Some(access.next_value()?),
                        _ => {
                            access.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(response)
            }
        }

        deserializer.deserialize_map(ResponseVisitor(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::{Delivery, Mailbox, RequestId};

    /// What becomes of `line` while the result of the request 7 is wanted.
    fn check(line: &str) -> Option<Delivery> {
        let mailbox = Mailbox::default();
        mailbox.expect(RequestId::Number(7));
        let line = line.as_bytes();
        let id = mailbox
            .deliver(line)
            .or_else(|| mailbox.deliver_fault(line))?;
        assert_eq!(id, RequestId::Number(7));
        mailbox.take(&id)
    }

    #[test]
    fn takes_wanted_results_as_they_are() {
        let kept = [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":[]}}"#,
                r#"{"b":1,"a":[]}"#,
            ),
            (r#"{"result":null,"id":"7","more":{}}"#, "null"),
            (r#"{"id":7,"result":"\u00e4"}"#, "\"ä\""),
        ];
        for (line, expected) in kept {
            assert_eq!(check(line).unwrap().unwrap().to_json(), expected, "{line}");
        }
        let others = [
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
            "[]",
            "npm notice",
        ];
        for line in others {
            assert_eq!(check(line), None, "{line}");
        }
    }

    #[test]
    fn tells_of_a_result_that_cannot_be_read() {
        let deep = format!(
            r#"{{"result":{}{},"id":7}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        let reason = check(&deep).unwrap().unwrap_err();
        assert_eq!(reason, "recursion limit exceeded");
        let reason = check(r#"{"id":7,"result":{"#).unwrap().unwrap_err();
        assert_eq!(reason, "EOF while parsing an object");
        let broken = [
            r#"{"jsonrpc": "2.0", "id": 7, "result": {"x": NaN}}"#,
            r#"{"id":"7","result":{"x":NaN}}"#,
            r#"{"result":{"id":8,"x":NaN},"jsonrpc":"2.0","id":7}"#,
            r#"{"result":{"x":NaN}, "id": 7, "jsonrpc": "2.0"}"#,
        ];
        for line in broken {
            let reason = check(line).unwrap().unwrap_err();
            assert_eq!(reason, "expected value", "{line}");
        }
        let nobodys = [
            r#"{"jsonrpc":"2.0","id":8,"result":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","result":{"id":7,"x":NaN}}"#,
            r#"{"result":{"x":NaN,"id":7}}"#,
            "{",
            "}",
            "",
        ];
        for line in nobodys {
            assert_eq!(check(line), None, "{line}");
        }
    }

    #[test]
    fn forgets() {
        let mailbox = Mailbox::default();
        mailbox.expect(RequestId::Number(7));
        mailbox.forget(&RequestId::Number(7));
        assert_eq!(mailbox.deliver(br#"{"id":7,"result":{}}"#), None);
    }
}
