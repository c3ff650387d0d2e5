//! Parts of a response that `genai` drops: refusal texts, block reasons, and calls with malformed arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

use super::super::{FinishReason, ModelCall, Reply, Usage};

/// Fields that [`DroppedParts`] reads. Frames without any of them are not parsed.
const FIELDS: [&str; 3] = ["refusal", "blockReason", "incomplete_details"];

/// The parts of a response that `genai` drops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DroppedParts {
    /// Text of a refusal.
    refusal: String,
    /// Reason why a content filter stopped the prompt or the reply.
    blocked: Option<String>,
    /// Input tokens of a blocked prompt.
    input_tokens: u64,
}

/// Reads the frames of a streamed response and counts their bytes.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: AtomicUsize,
    dropped: Mutex<DroppedParts>,
}

impl DroppedParts {
    /// Reads a whole response, or one frame of it.
    pub(super) fn read(&mut self, body: &Value) {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let pointers = ["/choices/0/message/refusal", "/choices/0/delta/refusal"];
        // Streamed refusals arrive in parts.
        for words in pointers.into_iter().filter_map(text) {
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
        let pointers = [
            "/incomplete_details/reason",
            "/response/incomplete_details/reason",
        ];
        let mut reasons = pointers.into_iter().filter_map(text);
        let filtered = reasons.find(|reason| *reason == "content_filter");
        if let Some(reason) = text("/promptFeedback/blockReason").or(filtered) {
            self.blocked = Some(reason.to_owned());
            let tokens = body.pointer("/usageMetadata/promptTokenCount");
            self.input_tokens = tokens.and_then(Value::as_u64).unwrap_or_default();
        }
    }

    /// Fills the dropped parts into the reply.
    pub(super) fn fill_in(self, reply: &mut Reply) {
        if !self.refusal.is_empty() {
            reply.finish = FinishReason::Refusal;
            if reply.text.trim().is_empty() {
                reply.text = self.refusal;
            }
        }
        if let Some(reason) = self.blocked {
            reply.finish = FinishReason::Filter(reason);
        }
    }

    /// Builds the reply to a blocked prompt, which `genai` reports as an error.
    pub(super) fn blocked_reply(self) -> Option<Reply> {
        let mut reply = Reply::default();
        reply.usage.input_tokens = self.input_tokens;
        reply.finish = FinishReason::Filter(self.blocked?);
        Some(reply)
    }
}

impl FrameReader {
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self) -> DroppedParts {
        std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatFrameSink for FrameReader {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.bytes.fetch_add(frame.data.len(), Ordering::Relaxed);
        // Most frames have none of these fields and need no parsing.
        if !FIELDS.iter().any(|field| frame.data.contains(field)) {
            return;
        }
        if let Ok(body) = serde_json::from_str(frame.data) {
            let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.read(&body);
        }
    }
}

/// Parses a response in one of OpenAI's protocols with arguments that are not JSON; `genai` rejects the whole response. Such arguments
/// become text.
pub(super) fn parse_with_malformed_arguments(body: &Value) -> Option<Reply> {
    let mut reply = match body.get("output").and_then(Value::as_array) {
        Some(items) => parse_items(items),
        None => parse_message(body.pointer("/choices/0/message")?),
    };
    let is_malformed = |call: &ModelCall| call.arguments.as_object().is_none();
    // Any other response was rejected for another reason.
    if !reply.calls.iter().any(is_malformed) {
        return None;
    }
    let finish = body.pointer("/choices/0/finish_reason");
    if finish
        .or_else(|| body.get("status"))
        .is_some_and(is_cut_off)
    {
        reply.finish = FinishReason::Length;
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

fn is_cut_off(finish: &Value) -> bool {
    matches!(finish.as_str(), Some("length" | "incomplete"))
}

/// Parses a message of the chat completions API.
fn parse_message(message: &Value) -> Reply {
    let mut reply = Reply::text(text(message.get("content")));
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    reply.calls = calls
        .map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            parse_call(call.get("id"), function)
        })
        .collect();
    reply
}

/// Parses the items of the responses API.
fn parse_items(items: &[Value]) -> Reply {
    let mut reply = Reply::default();
    for item in items {
        if item.get("type").and_then(Value::as_str) == Some("function_call") {
            reply.calls.push(parse_call(item.get("call_id"), item));
            continue;
        }
        let parts = item.get("content").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            reply.text += &text(part.get("text"));
        }
    }
    reply
}

fn parse_call(id: Option<&Value>, function: &Value) -> ModelCall {
    let arguments = text(function.get("arguments"));
    let parsed = serde_json::from_str(&arguments).ok();
    ModelCall {
        id: text(id),
        name: text(function.get("name")),
        arguments: super::attempt::arguments(&parsed.unwrap_or(Value::String(arguments))),
    }
}

fn text(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
