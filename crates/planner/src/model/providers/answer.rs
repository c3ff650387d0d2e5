//! Answers as `genai` gives them.

use genai::chat::{ChatMessage, ChatResponse, MessageContent, StopReason, StreamEnd};
use planwright_core::Value;

use super::super::{ModelCall, Reply, Usage};

/// An answer, and the message that goes back with the results of the calls that it asks for.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) thoughts: Option<ChatMessage>,
    /// Whether it says why it ended.
    pub(super) has_end: bool,
    /// Whether it says what it cost.
    pub(super) has_usage: bool,
}

impl Answer {
    /// One that came as a whole.
    pub(super) fn whole(response: ChatResponse) -> Self {
        Self::new(
            response.content,
            response.reasoning_content,
            response.stop_reason.as_ref(),
            Some(&response.usage),
        )
    }

    /// One that came piece by piece.
    pub(super) fn live(end: StreamEnd) -> Self {
        Self::new(
            end.captured_content.unwrap_or_default(),
            end.captured_reasoning_content,
            end.captured_stop_reason.as_ref(),
            end.captured_usage.as_ref(),
        )
    }

    fn new(
        content: MessageContent,
        reasoning: Option<String>,
        stop: Option<&StopReason>,
        usage: Option<&genai::chat::Usage>,
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
        reply.is_cut_off = stop.is_some_and(StopReason::is_max_tokens);
        reply.usage = usage.map(counted).unwrap_or_default();
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
        }
    }

    /// Whether it says nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        self.reply.text.is_empty() && self.reply.calls.is_empty() && !self.has_end
    }
}

/// Calls without parameters come in several ways.
fn arguments(said: &serde_json::Value) -> Value {
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
