//! Results of calls: outputs and errors.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_core::flow::ValueLabels;
use serde::Serialize;

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
    /// The labels that the server states for the output.
    pub labels: ValueLabels,
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
            Some(Value::Bool(true)) => {
                let mut error = failure(&texts, structured);
                error.labels = stated_labels(result);
                return Err(error);
            }
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
        output.labels = stated_labels(result);
        Ok(output)
    }
}

/// Returns the labels that a server states for a result.
fn stated_labels(result: &Value) -> ValueLabels {
    let meta = result.get("_meta").map(ValueLabels::from_meta);
    meta.unwrap_or_default()
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
        // Servers without structured content write their error object as text.
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

/// The error of an attempt or of a step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The category of the failure.
    pub kind: ErrorKind,
    /// The tool's message, or one clause of the engine's own.
    pub message: String,
    /// Further data: a code, the tool's structured content. `null` if there is none.
    pub data: Value,
    /// The advice on another attempt.
    pub retry: RetryAdvice,
    /// The labels that the server states for the error; empty if it states none.
    pub labels: ValueLabels,
}

/// The kinds of failure, as reports name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The tool reported an error.
    Tool,
    /// A time limit was exceeded.
    Timeout,
    /// The server is not available, the connection was lost, or the response cannot be read.
    Unavailable,
    /// A resolved argument does not match the tool's schema.
    Arguments,
    /// A reference has no value.
    Reference,
    /// A person rejected the call.
    Approval,
    /// The policy forbids the call.
    Policy,
    /// A budget is exhausted.
    Budget,
    /// An internal defect.
    Internal,
}

impl ErrorKind {
    /// All kinds, in the order of their pages.
    pub const ALL: [Self; 9] = [
        Self::Tool,
        Self::Timeout,
        Self::Unavailable,
        Self::Arguments,
        Self::Reference,
        Self::Approval,
        Self::Policy,
        Self::Budget,
        Self::Internal,
    ];

    /// The title of the kind's page: what happened, as a clause.
    pub fn title(self) -> &'static str {
        match self {
            Self::Tool => "the tool reported an error",
            Self::Timeout => "the call took too long",
            Self::Unavailable => "the server cannot be reached",
            Self::Arguments => "the arguments do not fit the tool's schema",
            Self::Reference => "a reference has no value",
            Self::Approval => "a person rejected the call",
            Self::Policy => "the call is forbidden",
            Self::Budget => "a budget is used up",
            Self::Internal => "Planwright has a defect",
        }
    }

    /// The kind's name, as reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Arguments => "arguments",
            Self::Reference => "reference",
            Self::Approval => "approval",
            Self::Policy => "policy",
            Self::Budget => "budget",
            Self::Internal => "internal",
        }
    }
}

/// Advice on another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Another attempt does not help.
    #[default]
    Never,
    /// The call may have happened. It is retried only if a second call does no harm, or the plan or the options ask
    /// for several attempts. A call that needed an approval is not sent again.
    Uncertain,
    /// The call did not happen; it may be retried after the usual pause.
    Again,
    /// The call did not happen; it may be retried after this time at the earliest.
    After(Duration),
}

impl ToolError {
    /// Creates an error of `kind` that is not retried.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: Value::Null,
            retry: RetryAdvice::Never,
            labels: ValueLabels::default(),
        }
    }

    /// The code of the error of a value that does not fit the schema of its slot.
    pub const MISFIT: &str = "misfit";

    /// Returns the answer of a call that happened, if it did not fit the schema of the slot that the step writes.
    pub fn misfit(&self) -> Option<&Value> {
        let code = self.data.get("code").and_then(Value::as_text);
        let is_misfit = self.kind == ErrorKind::Reference && code == Some(Self::MISFIT);
        self.data.get("output").filter(|_| is_misfit)
    }

    /// Creates an error that the tool itself reported.
    pub fn tool(message: impl Into<String>, data: Value) -> Self {
        Self {
            data,
            ..Self::new(ErrorKind::Tool, message)
        }
    }

    /// Creates the error of a call without an answer within `limit`, with an explanation, if there is one.
    pub(crate) fn timeout(limit: Duration, reason: Option<&str>) -> Self {
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        Self::new(
            ErrorKind::Timeout,
            format!("no answer within {limit:?}{reason}"),
        )
    }

    /// Returns true if the call may have happened although it has failed.
    pub fn leaves_outcome_unknown(&self) -> bool {
        self.retry == RetryAdvice::Uncertain || self.kind == ErrorKind::Timeout
    }

    /// Creates an error of the connection to the tool: the call did not happen and may be retried.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry: RetryAdvice::Again,
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// Creates an error for a call that was sent but has no readable response, for example after a lost connection: it
    /// may have happened.
    pub fn lost(message: impl Into<String>) -> Self {
        Self {
            retry: RetryAdvice::Uncertain,
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// Sets the further data.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// The tool's own error code if it gave one, otherwise the kind.
    pub fn code(&self) -> Value {
        match self.data.get("code") {
            // Some servers write `null` for absent fields, here as well.
            Some(code) if !code.is_null() => code.clone(),
            _ => Value::from(self.kind.as_str()),
        }
    }

    /// The error as a value: `{"code", "message"}`.
    pub fn as_value(&self) -> Value {
        Value::object([
            ("code", self.code()),
            ("message", Value::from(self.message.as_str())),
        ])
    }
}
