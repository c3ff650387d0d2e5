//! OpenAI: messages of chat completions, and items of the Responses API.

use planwright_core::Value;

use super::ReadError;
use super::conversation::{OpenConversation, arguments, text_of};
use crate::trace::TraceAnswer;

/// The beginnings of answers that report an error. The format has no other mark, and frameworks write these texts for tools that fail.
const ERRORS: [&str; 4] = [
    "Error:",
    "Error executing tool",
    "Error calling tool",
    "An error occurred while running the tool",
];

/// Adds one message or item.
pub(super) fn add(conversation: &mut OpenConversation, message: &Value) -> Result<(), ReadError> {
    let text = |key: &str| message.get(key).and_then(Value::as_text);
    match text("type") {
        Some("function_call") => {
            let name = text("name").unwrap_or_default();
            let args = arguments(name, message.get("arguments"))?;
            conversation.add_call(text("call_id").or_else(|| text("id")), name, args);
            return Ok(());
        }
        Some("function_call_output") => {
            let answer = answer(message.get("output"));
            conversation.add_answer(text("call_id").unwrap_or_default(), answer);
            return Ok(());
        }
        Some("mcp_call") => {
            let name = text("name").unwrap_or_default();
            let args = arguments(name, message.get("arguments"))?;
            let qualified = match text("server_label") {
                Some(server) => format!("{server}.{name}"),
                None => name.to_owned(),
            };
            conversation.add_call(None, &qualified, args);
            conversation.add_own_answer(match message.get("error") {
                None | Some(Value::Null) => answer(message.get("output")),
                Some(error) => TraceAnswer::Failed(error.to_inserted_text()),
            });
            return Ok(());
        }
        Some(_) | None => {}
    }
    match text("role") {
        Some("user") => {
            if let Some(request) = text_of(message.get("content")) {
                conversation.add_request(request);
            }
        }
        Some("tool") => {
            let answer = answer(message.get("content"));
            conversation.add_answer(text("tool_call_id").unwrap_or_default(), answer);
        }
        Some(_) | None => {
            let calls = message.get("tool_calls").and_then(Value::as_list);
            for call in calls.unwrap_or_default() {
                let function = call.get("function").unwrap_or(call);
                let name = function.get("name").and_then(Value::as_text);
                let name = name.unwrap_or_default();
                let args = arguments(name, function.get("arguments"))?;
                conversation.add_call(call.get("id").and_then(Value::as_text), name, args);
            }
        }
    }
    Ok(())
}

fn answer(content: Option<&Value>) -> TraceAnswer {
    match (content, text_of(content)) {
        (None | Some(Value::Null), _) => TraceAnswer::Missing,
        (Some(_), Some(text)) if ERRORS.iter().any(|mark| text.starts_with(mark)) => {
            TraceAnswer::Failed(text)
        }
        (Some(_), Some(text)) => TraceAnswer::of_text(&text),
        (Some(value), None) => TraceAnswer::Output(value.clone()),
    }
}
