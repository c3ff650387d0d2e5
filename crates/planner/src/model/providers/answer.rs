//! Answers as `genai` gives them.

use genai::chat::{ChatMessage, ChatResponse, ContentPart, MessageContent, StopReason, StreamEnd};
use planwright_core::Value;

use super::super::{Finish, ModelCall, Reply, Usage};
use super::omitted::Omitted;

/// An answer, and the message that goes back with the results of the calls that it asks for.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) thoughts: Option<ChatMessage>,
    /// Whether it says why it ended.
    pub(super) has_end: bool,
    /// Whether it says what it cost.
    pub(super) has_usage: bool,
    /// Whether it says that it ends in the middle, for a reason that is none of the model's.
    pub(super) is_interrupted: bool,
}

impl Answer {
    /// One that came as a whole.
    pub(super) fn whole(response: ChatResponse) -> Self {
        let mut omitted = Omitted::default();
        if let Some(body) = &response.captured_raw_body {
            omitted.read(body);
        }
        Self::new(
            response.content,
            response.reasoning_content,
            response.stop_reason.as_ref(),
            Some(&response.usage),
            omitted,
        )
    }

    /// One that came piece by piece.
    pub(super) fn live(end: StreamEnd, omitted: Omitted) -> Self {
        Self::new(
            end.captured_content.unwrap_or_default(),
            end.captured_reasoning_content,
            end.captured_stop_reason.as_ref(),
            end.captured_usage.as_ref(),
            omitted,
        )
    }

    /// One that was read without `genai`.
    pub(super) fn of(reply: Reply) -> Self {
        Self {
            reply,
            thoughts: None,
            has_end: true,
            has_usage: true,
            is_interrupted: false,
        }
    }

    fn new(
        mut content: MessageContent,
        reasoning: Option<String>,
        stop: Option<&StopReason>,
        usage: Option<&genai::chat::Usage>,
        omitted: Omitted,
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
        reply.finish = stop.map_or(Finish::Complete, finish);
        omitted.complete(&mut reply);
        reply.usage = usage.map(counted).unwrap_or_default();
        for part in &mut content {
            if let ContentPart::ToolCall(call) = part
                && !call.fn_arguments.is_object()
            {
                call.fn_arguments = serde_json::json!({});
            }
        }
        let thoughts = (!reply.calls.is_empty()).then(|| {
            let has_reasoning = content.contains_reasoning_content();
            let message = ChatMessage::assistant(content);
            if has_reasoning {
                return message;
            }
            message.with_reasoning_content(reasoning)
        });
        Self {
            reply,
            thoughts,
            has_end: stop.is_some(),
            has_usage: usage.is_some(),
            is_interrupted: matches!(stop, Some(StopReason::Other(word)) if is_interruption(word)),
        }
    }

    /// Whether it says nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        self.reply.text.is_empty() && self.reply.calls.is_empty() && !self.has_end
    }
}

fn finish(stop: &StopReason) -> Finish {
    match stop {
        StopReason::MaxTokens(_) => Finish::Length,
        StopReason::ContentFilter(word) if word == "refusal" => Finish::Refusal,
        StopReason::ContentFilter(word) => Finish::Filter(word.clone()),
        StopReason::Other(word) if word == "sensitive" => Finish::Filter(word.clone()),
        _ => Finish::Complete,
    }
}

/// Whether a provider's word for the end of an answer says that the answer is none.
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
                | "timeout"
                | "too_many_tool_calls"
        )
}

/// Calls without parameters come in several ways.
pub(super) fn arguments(said: &serde_json::Value) -> Value {
    let is_nothing = said.is_null() || said.as_str().is_some_and(|text| text.trim().is_empty());
    if is_nothing {
        return Value::from(serde_json::json!({}));
    }
    Value::from(said.clone())
}

fn counted(usage: &genai::chat::Usage) -> Usage {
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
