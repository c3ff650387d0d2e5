//! Anthropic: messages with blocks `tool_use` and `tool_result`, also those of its connector to MCP servers.

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
    conversation.add_unknown(message);
    let others = message.get("tool_calls").and_then(Value::as_list);
    if others.is_some_and(|calls| !calls.is_empty()) {
        conversation.add_unread("tool_calls", None);
    }
    for block in blocks {
        let text = |key: &str| block.get(key).and_then(Value::as_text);
        match text("type") {
            Some(kind @ ("tool_use" | "mcp_tool_use")) => {
                let name = text("name").unwrap_or_default();
                let args = arguments(name, block.get("input"))?;
                // The connector to MCP servers names the server apart.
                let qualified = match text("server_name").filter(|_| kind == "mcp_tool_use") {
                    Some(server) => format!("{server}.{name}"),
                    None => name.to_owned(),
                };
                conversation.add_call(text("id"), &qualified, args);
            }
            Some(kind @ ("tool_result" | "mcp_tool_result")) => {
                has_results |= kind == "tool_result";
                let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                let answer = answer(block.get("content"), failed);
                conversation.add_answer(text("tool_use_id").unwrap_or_default(), answer);
            }
            Some(_) | None => conversation.add_unknown(block),
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
