//! Replies in the form that `genai` returns.

use genai::chat::{ChatMessage, ChatResponse, ContentPart, MessageContent, StopReason, StreamEnd};
use planwright_core::Value;

use super::super::{FinishReason, ModelCall, Reply, Usage};
use super::dropped_parts::DroppedParts;

/// A reply, and the message to send back with the results of its calls.
#[derive(Debug)]
pub(super) struct ProviderReply {
    pub(super) reply: Reply,
    pub(super) reasoning_message: Option<ChatMessage>,
    /// True if the response states why it ended.
    pub(super) has_end: bool,
    /// True if the response states its usage.
    pub(super) has_usage: bool,
    /// The reason of the provider if it stopped early for reasons of its own.
    pub(super) interruption: Option<String>,
}

impl ProviderReply {
    /// Converts a reply that arrived as a whole.
    pub(super) fn from_response(response: ChatResponse) -> Self {
        let mut dropped = DroppedParts::default();
        if let Some(body) = &response.captured_raw_body {
            dropped.read(body);
        }
        Self::new(
            response.content,
            response.reasoning_content,
            response.stop_reason.as_ref(),
            Some(&response.usage),
            dropped,
        )
    }

    /// Converts a streamed reply.
    pub(super) fn from_stream(end: StreamEnd, dropped: DroppedParts) -> Self {
        Self::new(
            end.captured_content.unwrap_or_default(),
            end.captured_reasoning_content,
            end.captured_stop_reason.as_ref(),
            end.captured_usage.as_ref(),
            dropped,
        )
    }

    /// Wraps a reply that was parsed without `genai`.
    pub(super) fn from_reply(reply: Reply) -> Self {
        Self {
            reply,
            reasoning_message: None,
            has_end: true,
            has_usage: true,
            interruption: None,
        }
    }

    fn new(
        mut content: MessageContent,
        reasoning: Option<String>,
        stop: Option<&StopReason>,
        usage: Option<&genai::chat::Usage>,
        dropped: DroppedParts,
    ) -> Self {
        let mut reply = Reply::text(content.texts().concat());
        reply.calls = content
            .tool_calls()
            .into_iter()
            .map(|call| ModelCall {
                id: call.call_id.clone(),
                name: call.fn_name.clone(),
                arguments: arguments(&call.fn_arguments),
            })
            .collect();
        reply.finish = stop.map_or(FinishReason::Complete, finish);
        dropped.fill_in(&mut reply);
        reply.usage = usage.map(convert_usage).unwrap_or_default();
        for part in &mut content {
            // Providers accept objects only as arguments in the messages that are sent back.
            if let ContentPart::ToolCall(call) = part
                && !call.fn_arguments.is_object()
            {
                call.fn_arguments = serde_json::json!({});
            }
        }
        // Reasoning is sent back with the results of calls only.
        let reasoning_message = (!reply.calls.is_empty()).then(|| {
            let has_reasoning = content.contains_reasoning_content();
            let message = ChatMessage::assistant(content);
            if has_reasoning {
                return message;
            }
            message.with_reasoning_content(reasoning)
        });
        Self {
            reply,
            reasoning_message,
            has_end: stop.is_some(),
            has_usage: usage.is_some(),
            interruption: match stop {
                Some(StopReason::Other(word)) if is_interruption(word) => Some(word.clone()),
                _ => None,
            },
        }
    }

    /// Returns whether the response holds no reply.
    pub(super) fn is_empty(&self) -> bool {
        self.reply.text.is_empty() && self.reply.calls.is_empty() && !self.has_end
    }
}

fn finish(stop: &StopReason) -> FinishReason {
    match stop {
        StopReason::MaxTokens(_) => FinishReason::Length,
        StopReason::ContentFilter(word) if word == "refusal" => FinishReason::Refusal,
        StopReason::ContentFilter(word) => FinishReason::Filter(word.clone()),
        StopReason::Other(word) if word == "sensitive" => FinishReason::Filter(word.clone()),
        _ => FinishReason::Complete,
    }
}

/// Returns whether a provider's finish reason means that the reply is unusable.
fn is_interruption(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let is_malformed = word.starts_with("malformed_") || word.ends_with("_tool_call");
    is_malformed
        || matches!(
            word.as_str(),
            "abort"
                | "cancelled"
                | "error"
                | "failed"
                | "insufficient_system_resource"
                | "network_error"
                | "other"
                | "pause_turn"
                | "timeout"
                | "too_many_tool_calls"
        )
}

/// Normalizes the arguments of a call: providers write missing arguments as null or as empty text.
pub(super) fn arguments(said: &serde_json::Value) -> Value {
    let is_nothing = said.is_null() || said.as_str().is_some_and(|text| text.trim().is_empty());
    if is_nothing {
        return Value::from(serde_json::json!({}));
    }
    Value::from(said.clone())
}

fn convert_usage(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| {
        tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or(0)
    };
    let details = usage.prompt_tokens_details.as_ref();
    Usage {
        input_tokens: count(usage.prompt_tokens),
        cached_tokens: count(details.and_then(|details| details.cached_tokens)),
        output_tokens: count(usage.completion_tokens),
        ..Usage::default()
    }
}
