//! Tool outputs: a value, the original text if there was one, and other content.

use std::sync::Arc;

use planwright_core::Value;

use super::ToolError;

/// The output of a successful call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The output as a value, for references.
    pub value: Value,
    /// The verbatim text, if the output arrived as one text and the value differs from it.
    pub text: Option<Arc<str>>,
    /// Content blocks that are not text, such as images and resources, as MCP writes them.
    pub content: Vec<Value>,
    /// The output alternative of the step that the tool chose, such as `state.wet`.
    pub branch: Option<Arc<str>>,
}

impl ToolOutput {
    /// Creates an output that consists of a value only.
    pub fn value(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// Creates an output from a text. A JSON object or list becomes a value; any other text stays text, so `02134` and
    /// `null` keep their type.
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
    /// Structured content is the value. Without it, one text block is read as in [`ToolOutput::text`], several are
    /// joined by line breaks, and blocks without any text are the value themselves.
    ///
    /// # Errors
    ///
    /// The tool's own error if the result says `isError`, with the tool's text as its message. If `isError` is neither
    /// true nor false, the outcome of the call is unknown.
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
        // Some servers write `null` for absent fields.
        let structured = result
            .get("structuredContent")
            .filter(|structured| !structured.is_null());
        match result.get("isError") {
            Some(Value::Bool(true)) => return Err(failure(&texts, structured)),
            None | Some(Value::Null | Value::Bool(false)) => {}
            // Neither success nor failure may be assumed.
            Some(other) => {
                return Err(ToolError::lost(format!(
                    "the tool's result cannot be read: its `isError` is a {}",
                    other.kind()
                )));
            }
        }
        let mut output = match (structured, texts.as_slice()) {
            // Servers repeat structured content as text for older clients. Parameters that take text get it verbatim.
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
    // Only containers are unambiguous; `02134` or `null` may well be meant as text.
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    Value::from_tool_json(text).ok()
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
