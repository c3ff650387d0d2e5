//! What `genai` leaves out of an answer: the words of a refusal, why a question was blocked, calls whose arguments are not JSON.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

use super::super::{Finish, ModelCall, Reply, Usage};

/// The fields that [`Omitted`] is made of; a piece of an answer that names none of them is not read.
const FIELDS: [&str; 3] = ["refusal", "blockReason", "incomplete_details"];

/// The parts of an answer that `genai` does not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Omitted {
    /// The words of a refusal.
    refusal: String,
    /// Why a filter stopped the question or the answer.
    blocked: Option<String>,
    /// The tokens of a question that was blocked.
    input_tokens: u64,
}

/// Reads the pieces of a streamed answer, and counts their bytes.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: AtomicUsize,
    omitted: Mutex<Omitted>,
}

impl Omitted {
    /// Reads a whole answer, or one piece of it.
    pub(super) fn read(&mut self, body: &Value) {
        let text = |place: &str| body.pointer(place).and_then(Value::as_str);
        let places = ["/choices/0/message/refusal", "/choices/0/delta/refusal"];
        for words in places.into_iter().filter_map(text) {
            self.refusal += words;
        }
        if text("/type") == Some("response.refusal.delta") {
            self.refusal += text("/delta").unwrap_or_default();
        }
        let output = body.get("output").and_then(Value::as_array);
        let parts = output.into_iter().flatten().filter_map(|item| {
            let parts = item.get("content")?.as_array()?;
            Some(parts.iter())
        });
        for part in parts.flatten() {
            self.refusal += part
                .get("refusal")
                .and_then(Value::as_str)
                .unwrap_or_default();
        }
        let places = [
            "/incomplete_details/reason",
            "/response/incomplete_details/reason",
        ];
        let mut reasons = places.into_iter().filter_map(text);
        let filtered = reasons.find(|reason| *reason == "content_filter");
        if let Some(reason) = text("/promptFeedback/blockReason").or(filtered) {
            self.blocked = Some(reason.to_owned());
            let tokens = body.pointer("/usageMetadata/promptTokenCount");
            self.input_tokens = tokens.and_then(Value::as_u64).unwrap_or_default();
        }
    }

    /// Puts what was omitted where it belongs.
    pub(super) fn complete(self, reply: &mut Reply) {
        if !self.refusal.is_empty() {
            reply.finish = Finish::Refusal;
            if reply.text.trim().is_empty() {
                reply.text = self.refusal;
            }
        }
        if let Some(reason) = self.blocked {
            reply.finish = Finish::Filter(reason);
        }
    }

    /// The answer to a question that was blocked; `genai` takes it for a failure.
    pub(super) fn blocked(self) -> Option<Reply> {
        let mut reply = Reply::default();
        reply.usage.input_tokens = self.input_tokens;
        reply.finish = Finish::Filter(self.blocked?);
        Some(reply)
    }
}

impl Frames {
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self) -> Omitted {
        std::mem::take(&mut *self.omitted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.bytes.fetch_add(frame.data.len(), Ordering::Relaxed);
        if !FIELDS.iter().any(|field| frame.data.contains(field)) {
            return;
        }
        if let Ok(body) = serde_json::from_str(frame.data) {
            let mut omitted = self.omitted.lock().unwrap_or_else(PoisonError::into_inner);
            omitted.read(&body);
        }
    }
}

/// An answer in one of OpenAI's protocols with calls whose arguments are not JSON, of which `genai` reads nothing at all. Those
/// arguments stay a text.
pub(super) fn with_broken_arguments(body: &Value) -> Option<Reply> {
    let mut reply = match body.get("output").and_then(Value::as_array) {
        Some(items) => of_items(items),
        None => of_message(body.pointer("/choices/0/message")?),
    };
    let is_broken = |call: &ModelCall| call.arguments.as_object().is_none();
    if !reply.calls.iter().any(is_broken) {
        return None;
    }
    let finish = body.pointer("/choices/0/finish_reason");
    if finish.or_else(|| body.get("status")).is_some_and(is_cut) {
        reply.finish = Finish::Length;
    }
    let count = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| body.pointer(name));
        found.and_then(Value::as_u64).unwrap_or_default()
    };
    reply.usage = Usage {
        input_tokens: count(["/usage/prompt_tokens", "/usage/input_tokens"]),
        cached_tokens: count([
            "/usage/prompt_tokens_details/cached_tokens",
            "/usage/input_tokens_details/cached_tokens",
        ]),
        output_tokens: count(["/usage/completion_tokens", "/usage/output_tokens"]),
        ..Usage::default()
    };
    Some(reply)
}

fn is_cut(finish: &Value) -> bool {
    matches!(finish.as_str(), Some("length" | "incomplete"))
}

/// A message of the chat completions.
fn of_message(message: &Value) -> Reply {
    let mut reply = Reply::text(text(message.get("content")));
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    reply.calls = calls
        .map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            called(call.get("id"), function)
        })
        .collect();
    reply
}

/// The items of the responses API.
fn of_items(items: &[Value]) -> Reply {
    let mut reply = Reply::default();
    for item in items {
        if item.get("type").and_then(Value::as_str) == Some("function_call") {
            reply.calls.push(called(item.get("call_id"), item));
            continue;
        }
        let parts = item.get("content").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            reply.text += &text(part.get("text"));
        }
    }
    reply
}

fn called(id: Option<&Value>, function: &Value) -> ModelCall {
    let arguments = text(function.get("arguments"));
    let parsed = serde_json::from_str(&arguments).ok();
    ModelCall {
        id: text(id),
        name: text(function.get("name")),
        arguments: super::answer::arguments(&parsed.unwrap_or(Value::String(arguments))),
    }
}

fn text(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
