//! The answers to calls that depend on the script alone.

use serde_json::{Value, json};

/// The answer after all delays.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// A raw line.
    Line(String),
    /// A result.
    Result(Value),
    /// A JSON-RPC error.
    Error(Value),
    /// No answer.
    Nothing,
}

/// The answer to `request` of a tool with the behavior `does`.
pub(super) fn answer(does: &Value, request: &Value) -> Answer {
    let params = &request["params"];
    if does["never"] == true {
        return Answer::Nothing;
    }
    if let Some(line) = does["raw"].as_str() {
        return Answer::Line(line.replace("$ID", &request["id"].to_string()));
    }
    if !does["error"].is_null() {
        return Answer::Error(does["error"].clone());
    }
    if !does["input_required"].is_null() {
        return Answer::Result(match params.get("inputResponses") {
            Some(responses) => structured(responses.clone()),
            None => json!({
                "resultType": "input_required",
                "inputRequests": does["input_required"],
                "requestState": "round two",
            }),
        });
    }
    Answer::Result(if let Some(result) = does.get("result") {
        result.clone()
    } else if let Some(bytes) = does["text_bytes"].as_u64() {
        let length = usize::try_from(bytes).expect("a text fits into memory");
        text(&"x".repeat(length))
    } else if let Some(content) = does["text"].as_str() {
        text(content)
    } else if let Some(content) = does.get("structured") {
        structured(content.clone())
    } else {
        structured(params["arguments"].clone())
    })
}

/// A result with structured content, and its text as the specification requires.
pub(super) fn structured(content: Value) -> Value {
    let mut result = text(&content.to_string());
    result["structuredContent"] = content;
    result
}

fn text(content: &str) -> Value {
    json!({"content": [{"type": "text", "text": content}]})
}
