//! What a tool gave: a value, its text where it arrived as text, and whatever is neither.

use std::sync::Arc;

use planwright_core::Value;

use super::ToolError;

/// The output of a successful call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The output as a value: what references read.
    pub value: Value,
    /// The output letter by letter, where it arrived as one text and the value is not that text.
    pub text: Option<Arc<str>>,
    /// Content blocks that are not text, such as images and resources, as MCP writes them.
    pub content: Vec<Value>,
    /// The branch that the tool chose among the step's output alternatives, such as `state.wet`.
    pub branch: Option<Arc<str>>,
}

impl ToolOutput {
    /// An output that is just a value.
    pub fn value(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// An output that arrived as text. It is a value of its own where it is a JSON object or list;
    /// any other text stays text, so that `02134` and `null` are not mistaken for something else.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        match parse_container(&text) {
            Some(value) => Self {
                value,
                text: Some(text),
                ..Self::default()
            },
            None => Self::value(Value::Text(text)),
        }
    }

    /// Reads an MCP `CallToolResult` (2026-07-28).
    ///
    /// Structured content is the value. Without it, one text block is read by the rule of [`ToolOutput::text`],
    /// several are joined by line breaks, and blocks without any text are the value themselves.
    ///
    /// # Errors
    ///
    /// The tool's own failure where the result says `isError`: its message is the tool's text. A result whose `isError` is
    /// neither true nor false says neither that the call went well nor that it did not happen.
    pub fn from_call_result(result: &Value) -> Result<Self, ToolError> {
        let blocks = result
            .get("content")
            .and_then(Value::as_list)
            .unwrap_or(&[]);
        let mut texts = Vec::new();
        let mut others = Vec::new();
        for block in blocks {
            match block.get("text").and_then(text_of) {
                Some(text) if block.get("type").and_then(Value::as_text) == Some("text") => {
                    texts.push(text);
                }
                _ => others.push(block.clone()),
            }
        }
        // Some servers write `null` for what they do not have.
        let structured = result
            .get("structuredContent")
            .filter(|structured| !structured.is_null());
        match result.get("isError") {
            Some(Value::Bool(true)) => return Err(failure(&texts, structured)),
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(other) => {
                return Err(ToolError::lost(format!(
                    "the tool's result cannot be read: its `isError` is a {}",
                    other.kind()
                )));
            }
        }
        let mut output = match (structured, texts.as_slice()) {
            (Some(value), [text]) => Self {
                value: value.clone(),
                text: Some(Arc::clone(text)),
                ..Self::default()
            },
            (Some(value), _) => Self::value(value.clone()),
            (None, [text]) => Self::text(Arc::clone(text)),
            (None, []) if others.is_empty() => Self::value(Value::Null),
            (None, []) => Self::value(others.clone().into()),
            (None, _) => Self::value(Value::text(texts.join("\n"))),
        };
        output.content = others;
        Ok(output)
    }
}

fn text_of(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::Text(text) => Some(Arc::clone(text)),
        _ => None,
    }
}

fn parse_container(text: &str) -> Option<Value> {
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    Value::from_json(text).ok()
}

fn failure(texts: &[Arc<str>], structured: Option<&Value>) -> ToolError {
    let joined = texts.join("\n");
    let data = structured
        .cloned()
        .or_else(|| parse_container(&joined))
        .unwrap_or_default();
    let message = if joined.is_empty() {
        data.get("message")
            .and_then(Value::as_text)
            .unwrap_or("the tool failed without a message")
            .to_owned()
    } else {
        joined
    };
    ToolError::tool(message, data)
}
