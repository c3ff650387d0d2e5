//! OpenTelemetry: spans with the attributes of generative AI, as OTLP JSON or as lists of spans.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::ReadError;
use super::conversation::arguments;
use crate::trace::{Trace, TraceAnswer, TracedCall};

const TOOL: &str = "gen_ai.tool.name";
const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
const RESULT: &str = "gen_ai.tool.call.result";
const INPUT: &str = "gen_ai.input.messages";
const ERROR: &str = "error.type";

/// The names of the end of a span.
const ENDED: [&str; 4] = [
    "endTimeUnixNano",
    "end_time_unix_nano",
    "endTime",
    "end_time",
];

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// A trace that is being read.
#[derive(Default)]
struct OpenTrace {
    trace: Trace,
    /// The end and the round of each call that had not ended when the last one started.
    open: BinaryHeap<Reverse<(u64, usize)>>,
    /// The round of a call that starts now.
    round: usize,
}

/// A span with its attributes as an object.
struct Span<'a> {
    value: &'a Value,
    attributes: Object,
    started: u64,
    ended: u64,
}

/// Reads one trace for each trace id.
pub(super) fn read(documents: &[Value]) -> Result<Vec<Trace>, ReadError> {
    let mut spans = Vec::new();
    for document in documents {
        add_spans(document, &mut spans);
    }
    // The order of export is that of the ends.
    spans.sort_by_key(|span: &Span<'_>| span.started);
    let mut traces: IndexMap<Arc<str>, OpenTrace> = IndexMap::new();
    for span in &spans {
        let OpenTrace { trace, open, round } = traces.entry(trace_id(span.value)).or_default();
        if let Some(Value::Text(tool)) = span.attributes.get(TOOL) {
            // A call may depend on each one that had ended before.
            while let Some(Reverse((_, ended))) = open
                .peek()
                .filter(|Reverse((end, _))| *end <= span.started)
                .copied()
            {
                open.pop();
                *round = (*round).max(ended + 1);
            }
            open.push(Reverse((span.ended, *round)));
            trace.calls.push(TracedCall {
                tool: Arc::clone(tool),
                args: arguments(tool, span.attributes.get(ARGUMENTS))?,
                answer: answer(span),
                round: *round,
            });
            trace.ended_unix_ms = trace.ended_unix_ms.max(unix_ms(span.value));
        } else if trace.request.is_none() {
            trace.request = span.attributes.get(INPUT).and_then(request);
        }
    }
    Ok(traces.into_values().map(|open| open.trace).collect())
}

fn add_spans<'a>(value: &'a Value, spans: &mut Vec<Span<'a>>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| add_spans(item, spans)),
        Value::Object(fields) => {
            for key in ["resourceSpans", "scopeSpans", "spans"] {
                if let Some(inner) = fields.get(key) {
                    add_spans(inner, spans);
                }
            }
            if let Some(attributes) = fields.get("attributes") {
                let attributes = attributes_of(attributes);
                if attributes.keys().any(|key| key.starts_with("gen_ai.")) {
                    spans.push(Span {
                        value,
                        attributes,
                        started: time(
                            value,
                            &[
                                "startTimeUnixNano",
                                "start_time_unix_nano",
                                "startTime",
                                "start_time",
                            ],
                        ),
                        ended: time(value, &ENDED),
                    });
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// Returns the attributes of OTLP, a list of keys and values, or those of an object.
fn attributes_of(value: &Value) -> Object {
    match value {
        Value::Object(fields) => fields.as_ref().clone(),
        Value::List(entries) => entries
            .iter()
            .filter_map(|entry| {
                let key = entry.get("key")?.as_text()?;
                Some((key.into(), any_value(entry.get("value")?)))
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Object::default(),
    }
}

/// Decodes an `AnyValue` of OTLP.
fn any_value(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|fields| fields.first()) else {
        return value.clone();
    };
    match (&**kind, inner) {
        // 64-bit integers are texts in JSON.
        ("intValue", Value::Text(text)) => text
            .parse::<i64>()
            .map_or_else(|_| inner.clone(), Value::from),
        ("kvlistValue", list) => attributes_of(list.get("values").unwrap_or(&Value::Null)).into(),
        ("arrayValue", list) => {
            let items = list.get("values").and_then(Value::as_list);
            Value::list(items.unwrap_or_default().iter().map(any_value))
        }
        ("stringValue" | "boolValue" | "intValue" | "doubleValue" | "bytesValue", inner) => {
            inner.clone()
        }
        _ => value.clone(),
    }
}

/// Returns a time in nanoseconds; 0 if the span has none. Dates are compared as texts are, by their digits.
fn time(span: &Value, names: &[&str]) -> u64 {
    let found = names.iter().find_map(|name| span.get(name));
    match found {
        Some(Value::Text(text)) => text.parse().unwrap_or_else(|_| digits(text)),
        Some(value) => value.as_u64().unwrap_or(0),
        None => 0,
    }
}

/// Returns the end of a span in milliseconds since 1970; `None` if it is a date, whose digits only order, or absent.
fn unix_ms(span: &Value) -> Option<u64> {
    let nanos = match ENDED.iter().find_map(|name| span.get(name))? {
        Value::Text(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    nanos.map(|nanos: u64| nanos / MILLISECOND)
}

/// Returns the digits of a date such as `2026-11-21T09:00:00.123456Z` as one number, which orders dates of the same form.
fn digits(text: &str) -> u64 {
    const DIGITS: usize = 19;
    let digits: String = text
        .chars()
        .filter(char::is_ascii_digit)
        .take(DIGITS)
        .collect();
    format!("{digits:0<DIGITS$}").parse().unwrap_or(0)
}

fn trace_id(span: &Value) -> Arc<str> {
    let context = span.get("context").unwrap_or(span);
    let names = ["traceId", "trace_id"];
    let found = names.iter().find_map(|name| context.get(name)?.as_text());
    found.unwrap_or_default().into()
}

fn answer(span: &Span<'_>) -> TraceAnswer {
    let status = span.value.get("status");
    let code = status.and_then(|status| status.get("code").or_else(|| status.get("status_code")));
    let is_error = match code {
        Some(Value::Text(text)) => text.ends_with("ERROR"),
        Some(code) => code.as_u64() == Some(2),
        None => false,
    };
    if is_error || span.attributes.contains_key(ERROR) {
        let message =
            status.and_then(|status| status.get("message").or_else(|| status.get("description")));
        let message = message.or_else(|| span.attributes.get(ERROR));
        return TraceAnswer::Failed(message.map(Value::to_inserted_text).unwrap_or_default());
    }
    match span.attributes.get(RESULT) {
        Some(Value::Text(text)) => TraceAnswer::of_text(text),
        Some(value) => TraceAnswer::Output(value.clone()),
        None => TraceAnswer::Missing,
    }
}

/// Returns the text of the first message of the user.
fn request(messages: &Value) -> Option<String> {
    let parsed = match messages {
        Value::Text(text) => Value::from_tool_json(text).ok()?,
        other => other.clone(),
    };
    let mut messages = parsed.as_list()?.iter();
    let user =
        messages.find(|message| message.get("role").and_then(Value::as_text) == Some("user"))?;
    super::conversation::text_of(user.get("parts").or_else(|| user.get("content")))
}
