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
            conversation.add_call(text("id"), &qualified, args);
            conversation.add_own_answer(match message.get("error") {
                None | Some(Value::Null) => answer(message.get("output")),
                Some(error) => TraceAnswer::Failed(error.to_inserted_text()),
            });
            return Ok(());
        }
        Some(_) | None => conversation.add_unknown(message),
    }
    let blocks = message.get("content").and_then(Value::as_list);
    for block in blocks.unwrap_or_default() {
        conversation.add_unknown(block);
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
        // The form before `tool_calls`, which has no ids: one call at a time.
        Some("function") => {
            let answer = answer(message.get("content"));
            conversation.add_answer(&function_id(text("name")), answer);
        }
        Some(_) | None => {
            let function = message.get("function_call");
            if let Some(function @ Value::Object(_)) = function {
                let name = function.get("name").and_then(Value::as_text);
                let args = arguments(name.unwrap_or_default(), function.get("arguments"))?;
                conversation.add_call(None, name.unwrap_or_default(), args);
                conversation.expect_answer(&function_id(name));
            }
            let calls = message.get("tool_calls").and_then(Value::as_list);
            for call in calls.unwrap_or_default() {
                let kind = call.get("type").and_then(Value::as_text);
                if let Some(kind) = kind.filter(|kind| *kind != "function") {
                    let name = call.get(kind).and_then(|call| call.get("name"));
                    conversation.add_unread(kind, name.and_then(Value::as_text));
                    continue;
                }
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

/// Returns the id of the answer to a call of the form without ids.
fn function_id(name: Option<&str>) -> String {
    format!("function {}", name.unwrap_or_default())
}

/// The fields of an answer that reports an error and nothing else.
const ERROR_FIELDS: [&str; 9] = [
    "error", "errors", "message", "code", "status", "type", "details", "success", "ok",
];

/// Returns true if an answer is an object that reports an error and has no other data.
fn is_error(answer: &Value) -> bool {
    let Some(fields) = answer.as_object() else {
        return false;
    };
    let has_error = match fields.get("error") {
        Some(Value::Text(text)) => !text.trim().is_empty(),
        Some(Value::Object(error)) => !error.is_empty(),
        Some(Value::Bool(is_error)) => *is_error,
        Some(Value::Null | Value::Number(_) | Value::List(_)) | None => false,
    };
    has_error && fields.keys().all(|name| ERROR_FIELDS.contains(&&**name))
}

fn answer(content: Option<&Value>) -> TraceAnswer {
    match (content, text_of(content)) {
        (None | Some(Value::Null), _) => TraceAnswer::Missing,
        (Some(_), Some(text)) if ERRORS.iter().any(|mark| text.starts_with(mark)) => {
            TraceAnswer::Failed(text)
        }
        (Some(_), Some(text)) => match TraceAnswer::of_text(&text) {
            TraceAnswer::Output(value) if is_error(&value) => TraceAnswer::Failed(text),
            answer => answer,
        },
        (Some(value), None) => TraceAnswer::Output(value.clone()),
    }
}
