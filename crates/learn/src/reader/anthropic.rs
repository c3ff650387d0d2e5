//! Anthropic: messages with blocks `tool_use` and `tool_result`.

use planwright_core::Value;

use super::ReadError;
use super::conversation::{OpenConversation, arguments, text_of};
use crate::trace::TraceAnswer;

/// Adds one message.
pub(super) fn add(conversation: &mut OpenConversation, message: &Value) -> Result<(), ReadError> {
    let content = message.get("content");
    let is_user = message.get("role").and_then(Value::as_text) == Some("user");
    let blocks = content.and_then(Value::as_list).unwrap_or_default();
    let mut has_results = false;
    for block in blocks {
        let text = |key: &str| block.get(key).and_then(Value::as_text);
        match text("type") {
            Some("tool_use") => {
                let name = text("name").unwrap_or_default();
                let args = arguments(name, block.get("input"))?;
                conversation.add_call(text("id"), name, args);
            }
            Some("tool_result") => {
                has_results = true;
                let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                let answer = answer(block.get("content"), failed);
                conversation.add_answer(text("tool_use_id").unwrap_or_default(), answer);
            }
            Some(_) | None => {}
        }
    }
    if is_user
        && !has_results
        && let Some(request) = text_of(content)
    {
        conversation.add_request(request);
    }
    Ok(())
}

fn answer(content: Option<&Value>, failed: bool) -> TraceAnswer {
    let text = text_of(content);
    match content {
        _ if failed => TraceAnswer::Failed(text.unwrap_or_default()),
        // A result without content is an empty success.
        None | Some(Value::Null) => TraceAnswer::Output(Value::Null),
        Some(value) => match text {
            Some(text) => TraceAnswer::of_text(&text),
            None => TraceAnswer::Output(value.clone()),
        },
    }
}
