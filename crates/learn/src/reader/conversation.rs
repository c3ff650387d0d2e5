//! Conversations of messages: the part that the formats of model APIs share.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::ReadError;
use crate::trace::{Trace, TraceAnswer, TracedCall};

/// A conversation that is being read.
#[derive(Default)]
pub(super) struct OpenConversation {
    trace: Trace,
    /// The calls without an answer so far, by id.
    open: HashMap<Arc<str>, usize>,
    round: usize,
    has_answers: bool,
}

impl OpenConversation {
    /// Adds the text of a user's message. The first one is the request.
    pub(super) fn add_request(&mut self, text: String) {
        if self.trace.request.is_none() && !text.trim().is_empty() {
            self.trace.request = Some(text);
        }
    }

    /// Adds a call of the current round.
    pub(super) fn add_call(&mut self, id: Option<&str>, tool: &str, args: Value) {
        // The model has read the answers so far.
        if std::mem::take(&mut self.has_answers) {
            self.round += 1;
        }
        if let Some(id) = id {
            self.open.insert(id.into(), self.trace.calls.len());
        }
        self.trace.calls.push(TracedCall {
            tool: tool.into(),
            args,
            answer: TraceAnswer::Missing,
            round: self.round,
        });
    }

    /// Adds the answer to the call `id`.
    pub(super) fn add_answer(&mut self, id: &str, answer: TraceAnswer) {
        let call = self.open.remove(id);
        if let Some(call) = call.and_then(|index| self.trace.calls.get_mut(index)) {
            call.answer = answer;
            self.has_answers = true;
        }
    }

    /// Adds the answer to the call that was added last.
    pub(super) fn add_own_answer(&mut self, answer: TraceAnswer) {
        if let Some(call) = self.trace.calls.last_mut() {
            call.answer = answer;
            self.has_answers = true;
        }
    }
}

/// Reads the conversations in documents: each document with messages is one, and documents that are messages are one together. `add`
/// adds one message.
pub(super) fn read(
    documents: &[Value],
    add: fn(&mut OpenConversation, &Value) -> Result<(), ReadError>,
) -> Result<Vec<Trace>, ReadError> {
    let mut traces = Vec::new();
    let mut loose = OpenConversation::default();
    for document in documents {
        let mut lists = Vec::new();
        each_list(document, &mut lists);
        if lists.is_empty() {
            add(&mut loose, message_of(document))?;
            continue;
        }
        let mut conversation = OpenConversation::default();
        for message in lists {
            add(&mut conversation, message_of(message))?;
        }
        traces.push(conversation.trace);
    }
    traces.push(loose.trace);
    Ok(traces)
}

/// The fields of a logged request and its response that have messages, in the order of time.
const MESSAGE_FIELDS: [&str; 8] = [
    "request", "body", "messages", "input", "items", "choices", "output", "response",
];

/// Adds the messages of a document, in order. A document that is a message itself has none.
fn each_list<'a>(document: &'a Value, messages: &mut Vec<&'a Value>) {
    match document {
        Value::List(items) => messages.extend(items.iter()),
        Value::Object(fields) if !fields.contains_key("role") && !fields.contains_key("type") => {
            for field in MESSAGE_FIELDS {
                match fields.get(field) {
                    Some(Value::List(items)) => messages.extend(items.iter()),
                    Some(response @ Value::Object(_)) => {
                        let before = messages.len();
                        each_list(response, messages);
                        if messages.len() == before {
                            messages.push(response);
                        }
                    }
                    Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_))
                    | None => {}
                }
            }
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// Returns the message of a line that wraps one, such as a choice or an entry of a session's log.
fn message_of(value: &Value) -> &Value {
    match value.get("message") {
        Some(message @ Value::Object(_)) => message,
        Some(_) | None => value,
    }
}

/// Returns the text of a message's content: a text, or blocks with texts.
pub(super) fn text_of(content: Option<&Value>) -> Option<String> {
    match content? {
        Value::Text(text) => Some(text.to_string()),
        Value::List(blocks) => {
            let texts = blocks.iter().filter_map(|block| {
                let text = block.get("text").or_else(|| block.get("content"));
                text.and_then(Value::as_text)
            });
            let texts: Vec<&str> = texts.collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Returns arguments, which most formats write as JSON in a text.
pub(super) fn arguments(tool: &str, written: Option<&Value>) -> Result<Value, ReadError> {
    let value = match written {
        None | Some(Value::Null) => Value::empty_object(),
        Some(Value::Text(text)) if text.trim().is_empty() => Value::empty_object(),
        Some(Value::Text(text)) => Value::from_tool_json(text).map_err(|error| {
            ReadError::Malformed(format!("the arguments of `{tool}` are not JSON: {error}"))
        })?,
        Some(value) => value.clone(),
    };
    match value {
        Value::Object(_) => Ok(value),
        other => Err(ReadError::Malformed(format!(
            "the arguments of `{tool}` are a {}, not an object",
            other.kind()
        ))),
    }
}
