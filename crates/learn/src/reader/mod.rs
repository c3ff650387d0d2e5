//! Readers of traces: one module for each format, and the recognition of a format by its form.

mod anthropic;
mod conversation;
mod nesting;
mod openai;
mod otel;
mod run;
mod session;

use planwright_core::Value;

use crate::trace::Trace;

pub use run::trace_of_run;
pub use session::{SessionCall, trace_of_session};

/// The mark in the first line of an exported run.
const RUN_EXPORT: &str = "planwright.run-export/";

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Messages of OpenAI's chat completions, or items of its Responses API.
    OpenAi,
    /// Messages of Anthropic's API.
    Anthropic,
    /// Spans of OpenTelemetry with the attributes of generative AI.
    Otel,
    /// An exported run of Planwright.
    Run,
}

impl TraceFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Otel, Self::Run];

    /// Returns the name by which users choose the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Otel => "otel",
            Self::Run => "run",
        }
    }
}

/// The reason why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The text is neither JSON nor JSON Lines.
    #[error("line {line} is not JSON: {reason}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The reason of the parser.
        reason: String,
    },
    /// The text has the form of no format.
    #[error(
        "the text is no trace: expected messages with `tool_calls` or items `function_call` (openai), messages with `tool_use` \
         (anthropic), spans with `gen_ai.tool.name` (otel), or an exported run (run)"
    )]
    UnknownFormat,
    /// The text has no calls in the format.
    #[error("the text has no calls in the format {}: expected {expected}", .format.as_str())]
    NoCalls {
        /// The format.
        format: TraceFormat,
        /// The parts that have the calls.
        expected: &'static str,
    },
    /// A part of the text is damaged.
    #[error("{0}")]
    Malformed(String),
}

/// Recognises the format of a text by its form; `None` if it has the form of no format.
pub fn detect(text: &str) -> Option<TraceFormat> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let head = Value::from_tool_json(first).ok();
    let mark = head.as_ref().and_then(|head| head.get("format"));
    if mark
        .and_then(Value::as_text)
        .is_some_and(|mark| mark.starts_with(RUN_EXPORT))
    {
        return Some(TraceFormat::Run);
    }
    let documents = documents(text).ok()?;
    documents.iter().find_map(|document| format_of(document, 0))
}

/// Reads the traces in a text of `format`, which is not [`TraceFormat::Run`]: the store decodes exported runs, and
/// [`trace_of_run`] reads their entries. `name` is the name of the text, for messages.
///
/// # Errors
///
/// Says what was expected.
pub fn read(name: &str, text: &str, format: TraceFormat) -> Result<Vec<Trace>, ReadError> {
    let documents = documents(text)?;
    let (mut traces, expected) = match format {
        TraceFormat::OpenAi => (
            conversation::read(&documents, openai::add)?,
            "messages with `tool_calls`, or items `function_call`",
        ),
        TraceFormat::Anthropic => (
            conversation::read(&documents, anthropic::add)?,
            "messages with blocks `tool_use`",
        ),
        TraceFormat::Otel => (
            otel::read(&documents)?,
            "spans with the attribute `gen_ai.tool.name`",
        ),
        TraceFormat::Run => return Err(ReadError::UnknownFormat),
    };
    // A conversation whose calls are all in other forms is a trace as well: the plan lacks them.
    traces.retain(|trace| !trace.calls.is_empty() || !trace.left_out.is_empty());
    if traces.iter().all(|trace| trace.calls.is_empty()) {
        return Err(ReadError::NoCalls { format, expected });
    }
    let several = traces.len() > 1;
    for (number, trace) in (1..).zip(&mut traces) {
        trace.name = if several {
            format!("{name}#{number}")
        } else {
            name.to_owned()
        };
    }
    Ok(traces)
}

/// Parses one JSON value, or one on each line.
fn documents(text: &str) -> Result<Vec<Value>, ReadError> {
    let text = text.trim_start_matches('\u{feff}');
    let whole = match Value::from_tool_json(text) {
        Ok(whole) => return Ok(vec![whole]),
        Err(error) => error,
    };
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let parsed: Result<Vec<Value>, ReadError> = lines
        .map(|(line, text)| {
            Value::from_tool_json(text).map_err(|error| ReadError::NotJson {
                line,
                reason: error.to_string(),
            })
        })
        .collect();
    match parsed {
        Ok(lines) if !lines.is_empty() => Ok(lines),
        // The text is one document with an error inside.
        Err(ReadError::NotJson { line: 1, .. }) | Ok(_) => Err(ReadError::NotJson {
            line: whole.line(),
            reason: whole.to_string(),
        }),
        Err(error) => Err(error),
    }
}

/// Maximum depth at which a format is recognised.
const MAX_DEPTH: usize = 8;

/// Finds the first part of a value that only one format has.
fn format_of(value: &Value, depth: usize) -> Option<TraceFormat> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_text);
            let role = fields.get("role").and_then(Value::as_text);
            if fields.contains_key("resourceSpans")
                || fields.keys().any(|key| key.starts_with("gen_ai."))
                || fields
                    .get("key")
                    .and_then(Value::as_text)
                    .is_some_and(|key| key.starts_with("gen_ai."))
            {
                return Some(TraceFormat::Otel);
            }
            if matches!(
                kind,
                Some("tool_use" | "tool_result" | "mcp_tool_use" | "mcp_tool_result")
            ) {
                return Some(TraceFormat::Anthropic);
            }
            let is_openai = matches!(
                kind,
                Some("function_call" | "function_call_output" | "mcp_call")
            ) || matches!(role, Some("tool" | "function"))
                || fields
                    .get("tool_calls")
                    .is_some_and(|calls| calls.as_list().is_some_and(|calls| !calls.is_empty()));
            if is_openai {
                return Some(TraceFormat::OpenAi);
            }
            fields.values().find_map(|part| format_of(part, depth + 1))
        }
        Value::List(items) => items.iter().find_map(|item| format_of(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}
