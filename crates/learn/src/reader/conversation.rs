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
    /// The ids of the calls.
    ids: Vec<Option<Arc<str>>>,
    /// The calls without an answer so far, by id.
    open: HashMap<Arc<str>, usize>,
    /// The answers before the first call: those to calls of an earlier part of the conversation.
    early: Vec<(Arc<str>, TraceAnswer)>,
    round: usize,
    has_answers: bool,
    /// The id of the last response.
    response: Option<Arc<str>>,
}

impl OpenConversation {
    /// Adds the text of a user's message. The first one is the request.
    pub(super) fn add_request(&mut self, text: String) {
        if text.trim().is_empty() {
            return;
        }
        if self.trace.request.is_none() {
            self.trace.request = Some(text);
        } else {
            self.trace.replies.push(text);
        }
    }

    /// Adds a call of the current round.
    pub(super) fn add_call(&mut self, id: Option<&str>, tool: &str, args: Value) {
        let call = TracedCall {
            tool: tool.into(),
            args,
            answer: TraceAnswer::Missing,
            round: 0,
        };
        self.push(id.map(Into::into), call);
    }

    /// Adds a call and gives it the current round.
    fn push(&mut self, id: Option<Arc<str>>, call: TracedCall) {
        // The model has read the answers so far.
        if std::mem::take(&mut self.has_answers) {
            self.round += 1;
        }
        if let Some(id) = &id {
            self.open.insert(Arc::clone(id), self.trace.calls.len());
        }
        self.ids.push(id);
        self.trace.calls.push(TracedCall {
            round: self.round,
            ..call
        });
    }

    /// Has the next answer with the id `id` answer the call that was added last, which has no id of its own.
    pub(super) fn expect_answer(&mut self, id: &str) {
        if let Some(last) = self.trace.calls.len().checked_sub(1) {
            self.open.insert(id.into(), last);
        }
    }

    /// Adds the answer to the call `id`.
    pub(super) fn add_answer(&mut self, id: &str, answer: TraceAnswer) {
        if self.trace.calls.is_empty() {
            self.early.push((id.into(), answer));
            return;
        }
        let call = self.open.remove(id);
        if let Some(call) = call.and_then(|index| self.trace.calls.get_mut(index)) {
            call.answer = answer;
            self.has_answers = true;
        }
    }

    /// Adds the answer to the call that was added last.
    pub(super) fn add_own_answer(&mut self, answer: TraceAnswer) {
        if let Some(Some(id)) = self.ids.last() {
            self.open.remove(id);
        }
        if let Some(call) = self.trace.calls.last_mut() {
            call.answer = answer;
            self.has_answers = true;
        }
    }

    /// Adds a call that the reader does not understand, written in `form`.
    pub(super) fn add_unread(&mut self, form: &str, tool: Option<&str>) {
        let tool = tool.unwrap_or("a tool");
        self.leave_out(format!(
            "`{tool}` is called in the form `{form}`, which is not read"
        ));
    }

    /// Adds a part that the reader does not know, if it is a call: formats get further kinds of calls.
    pub(super) fn add_unknown(&mut self, part: &Value) {
        let text = |key: &str| part.get(key).and_then(Value::as_text);
        if let Some(form) = text("type").filter(|form| is_call(form)) {
            self.add_unread(form, text("name"));
        }
    }

    /// Records why a call is not in the trace.
    fn leave_out(&mut self, reason: String) {
        if !self.trace.left_out.contains(&reason) {
            self.trace.left_out.push(reason);
        }
    }

    /// Returns true if `part` begins with answers to calls of this conversation.
    fn is_continued_by(&self, part: &Self) -> bool {
        let mut early = part.early.iter();
        !part.early.is_empty() && early.all(|(id, _)| self.open.contains_key(id))
    }

    /// Adds the next part of the conversation.
    fn append(&mut self, part: Self) {
        for (id, answer) in part.early {
            self.add_answer(&id, answer);
        }
        for text in part.trace.request.into_iter().chain(part.trace.replies) {
            self.add_request(text);
        }
        let mut last = None;
        for (id, call) in part.ids.into_iter().zip(part.trace.calls) {
            self.has_answers |= last.is_some_and(|last| last < call.round);
            last = Some(call.round);
            let answered = id.clone().filter(|id| !part.open.contains_key(id));
            self.push(id, call);
            if let Some(id) = answered {
                self.open.remove(&id);
            }
        }
        self.has_answers |= part.has_answers;
        for reason in part.trace.left_out {
            self.leave_out(reason);
        }
        self.response = part.response.or_else(|| self.response.take());
    }

    /// Records that the first calls of the conversation are missing.
    fn report_early_answers(&mut self) {
        if !self.early.is_empty() {
            self.leave_out("there are answers to calls that the log does not have".to_owned());
        }
    }

    /// Returns true if `later` is the same conversation at a later time: it has the same request and begins with the same calls, by their ids.
    fn is_beginning_of(&self, later: &Self) -> bool {
        let is_same = |(index, call): (usize, &TracedCall)| {
            let id = self.ids.get(index).and_then(Option::as_ref);
            let other = later.ids.get(index).and_then(Option::as_ref);
            id.is_some()
                && id == other
                && later
                    .trace
                    .calls
                    .get(index)
                    .is_some_and(|other| is_same_call(call, other))
        };
        let mut left_out = self.trace.left_out.iter();
        self.trace.request == later.trace.request
            && self.trace.calls.iter().enumerate().all(is_same)
            && left_out.all(|reason| later.trace.left_out.contains(reason))
    }

    /// Returns the trace. A call with the id, the arguments and the answer of an earlier one is the same call, which the log repeats, unless
    /// its ids are used for other calls as well.
    fn finish(self) -> Trace {
        let mut trace = self.trace;
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut repeated = Vec::new();
        for (index, id) in self.ids.iter().enumerate() {
            let Some(id) = id else { continue };
            match first.get(&**id) {
                Some(earlier) => repeated.push((*earlier, index)),
                None => {
                    first.insert(id, index);
                }
            }
        }
        let is_same = |(earlier, index): &(usize, usize)| {
            let calls = (trace.calls.get(*earlier), trace.calls.get(*index));
            matches!(calls, (Some(one), Some(other)) if is_same_call(one, other))
        };
        if !repeated.iter().all(is_same) {
            return trace;
        }
        for (earlier, index) in repeated.into_iter().rev() {
            let call = trace.calls.remove(index);
            if let Some(earlier) = trace.calls.get_mut(earlier)
                && earlier.answer == TraceAnswer::Missing
            {
                earlier.answer = call.answer;
            }
        }
        trace
    }
}

/// Returns true if two calls may be one: their answers are the same, or one of them has none.
fn is_same_call(one: &TracedCall, other: &TracedCall) -> bool {
    let has_all = one.answer != TraceAnswer::Missing && other.answer != TraceAnswer::Missing;
    one.tool == other.tool && one.args == other.args && (!has_all || one.answer == other.answer)
}

/// Returns true if a type is that of a call, such as `server_tool_use` or `custom_tool_call`.
fn is_call(form: &str) -> bool {
    const ENDINGS: [&str; 4] = ["_call", "-call", "tool_use", "tool-use"];
    ENDINGS.iter().any(|ending| form.ends_with(ending))
}

/// Reads the conversations in documents: each document with messages is one or the next part of one, and documents that are messages are
/// one together. `add` adds one message.
pub(super) fn read(
    documents: &[Value],
    add: fn(&mut OpenConversation, &Value) -> Result<(), ReadError>,
) -> Result<Vec<Trace>, ReadError> {
    let mut found: Vec<OpenConversation> = Vec::new();
    let mut loose = OpenConversation::default();
    let mut side = OpenConversation::default();
    for document in documents.iter().flat_map(conversations) {
        let mut messages = Vec::new();
        each_list(document, &mut messages);
        if messages.is_empty() {
            let is_side = document.get("isSidechain").and_then(Value::as_bool) == Some(true);
            let conversation = if is_side { &mut side } else { &mut loose };
            add(conversation, message_of(document))?;
            continue;
        }
        let mut part = OpenConversation::default();
        for message in messages {
            add(&mut part, message_of(message))?;
        }
        part.response = response_id(document);
        add_part(&mut found, part, previous_response(document));
    }
    loose.report_early_answers();
    if loose.trace.calls.is_empty() {
        // The log of a subagent has nothing but its own messages.
        found.push(side);
    } else {
        // The call that started a subagent does its work again.
        for call in &side.trace.calls {
            let tool = &call.tool;
            loose.leave_out(format!(
                "`{tool}` is called by a subagent, so it is left out"
            ));
        }
    }
    found.push(loose);
    // A log of requests has the conversation so far in each of them.
    let mut last: Vec<OpenConversation> = Vec::new();
    for conversation in found.into_iter().rev() {
        if !last.iter().any(|later| conversation.is_beginning_of(later)) {
            last.push(conversation);
        }
    }
    let traces = last.into_iter().rev().map(OpenConversation::finish);
    Ok(traces.collect())
}

/// Adds a part of a conversation: to the one with the response `previous` or with the calls that the part answers, or as another one.
fn add_part(
    found: &mut Vec<OpenConversation>,
    mut part: OpenConversation,
    previous: Option<Arc<str>>,
) {
    let known = found.iter().rposition(|conversation| {
        let is_next = previous.is_some() && conversation.response == previous;
        let has_ids = previous.is_some() && conversation.response.is_some();
        is_next || (!has_ids && conversation.is_continued_by(&part))
    });
    if let Some(conversation) = known.and_then(|known| found.get_mut(known)) {
        conversation.append(part);
        return;
    }
    part.report_early_answers();
    if let Some(previous) = previous {
        part.leave_out(format!(
            "the calls before the response `{previous}` are not in the log, or others follow them"
        ));
    }
    found.push(part);
}

/// Returns the conversations of a document that is a list of them, or else the document.
fn conversations(document: &Value) -> Vec<&Value> {
    let items = document.as_list().unwrap_or_default();
    let is_conversation = |item: &Value| {
        let mut messages = Vec::new();
        each_list(item, &mut messages);
        !messages.is_empty()
    };
    if !items.is_empty() && items.iter().all(is_conversation) {
        items.iter().collect()
    } else {
        vec![document]
    }
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

/// Returns the id of the response in a document.
fn response_id(document: &Value) -> Option<Arc<str>> {
    let response = document.get("response").unwrap_or(document);
    Some(response.get("id")?.as_text()?.into())
}

/// Returns the id of the response that the request in a document continues.
fn previous_response(document: &Value) -> Option<Arc<str>> {
    let request = document.get("request").or_else(|| document.get("body"));
    let body = request.and_then(|request| request.get("body"));
    let parts = [Some(document), request, body];
    let mut ids = parts
        .into_iter()
        .flatten()
        .map(|part| part.get("previous_response_id"));
    Some(ids.find_map(|id| id?.as_text())?.into())
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
