//! OpenTelemetry: spans with the attributes of generative AI, as OTLP JSON or as lists of spans.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::ReadError;
use super::conversation::arguments;
use super::nesting::{SpanParents, is_same_tool};
use crate::trace::{Trace, TraceAnswer, TracedCall};

const TOOL: &str = "gen_ai.tool.name";
const CALL_ID: &str = "gen_ai.tool.call.id";
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
    /// The calls by their ids.
    ids: HashMap<Arc<str>, usize>,
    /// The spans of the calls, by position.
    spans: HashMap<usize, usize>,
}

/// A span with its attributes as an object.
pub(super) struct TracedSpan<'a> {
    pub(super) value: &'a Value,
    pub(super) attributes: Object,
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
    spans.sort_by_key(|span: &TracedSpan<'_>| span.started);
    let parents = SpanParents::new(documents, &spans);
    let mut traces: IndexMap<Arc<str>, OpenTrace> = IndexMap::new();
    let mut nested = Vec::new();
    for (position, span) in spans.iter().enumerate() {
        let OpenTrace {
            trace,
            open,
            round,
            ids,
            spans: positions,
        } = traces.entry(trace_id(span.value)).or_default();
        if let Some(tool) = tool_of(span) {
            if parents.is_repeated(position) {
                continue;
            }
            if parents.tool_above(position).is_some() {
                nested.push(position);
                continue;
            }
            let id = span.attributes.get(CALL_ID).and_then(Value::as_text);
            let known = id.and_then(|id| trace.calls.get_mut(*ids.get(id)?));
            if let Some(call) = known
                && is_same_tool(&call.tool, tool)
                && !is_retry(call, span)
                && complete(call, span)?
            {
                continue;
            }
            if let Some(id) = id {
                ids.insert(id.into(), trace.calls.len());
            }
            positions.insert(position, trace.calls.len());
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
    // The spans of a call may begin at the same time, so the outer ones are read first.
    for position in nested {
        let (Some(span), Some(outer)) = (spans.get(position), parents.tool_above(position)) else {
            continue;
        };
        let (Some(tool), Some(open)) = (tool_of(span), traces.get_mut(&trace_id(span.value)))
        else {
            continue;
        };
        let call = open.spans.get(&outer);
        let call = call.and_then(|index| open.trace.calls.get_mut(*index));
        let outer = spans.get(outer).and_then(tool_of);
        let is_same = match call {
            Some(call) => is_same_tool(&call.tool, tool) && complete(call, span)?,
            // The outer call is the same as an earlier one, or within another one.
            None => outer.is_some_and(|outer| is_same_tool(outer, tool)),
        };
        if !is_same {
            let outer = outer.map_or("", |outer| &**outer);
            let reason =
                format!("`{tool}` is called within a call of `{outer}`, so it is left out");
            if !open.trace.left_out.contains(&reason) {
                open.trace.left_out.push(reason);
            }
        }
    }
    Ok(traces.into_values().map(|open| open.trace).collect())
}

/// Returns true if a span succeeded after the failure of a call.
fn is_retry(call: &TracedCall, span: &TracedSpan<'_>) -> bool {
    matches!(call.answer, TraceAnswer::Failed(_)) && answer(span).output().is_some()
}

/// Returns the tool of a span that is a call.
pub(super) fn tool_of<'a>(span: &'a TracedSpan<'_>) -> Option<&'a Arc<str>> {
    match span.attributes.get(TOOL) {
        Some(Value::Text(tool)) => Some(tool),
        Some(_) | None => None,
    }
}

/// Adds to a call what another span of it has: conventions leave arguments and results to the options of each instrumentation. Returns false
/// if the arguments differ, so the span is another call.
fn complete(call: &mut TracedCall, span: &TracedSpan<'_>) -> Result<bool, ReadError> {
    if let Some(written) = span.attributes.get(ARGUMENTS) {
        let args = arguments(&call.tool, Some(written))?;
        if call.args.as_object().is_some_and(Object::is_empty) {
            call.args = args;
        } else if call.args != args {
            return Ok(false);
        }
    }
    if call.answer == TraceAnswer::Missing {
        call.answer = answer(span);
    }
    Ok(true)
}

/// Adds the spans with attributes of generative AI.
fn add_spans<'a>(value: &'a Value, spans: &mut Vec<TracedSpan<'a>>) {
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
                    spans.push(TracedSpan {
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

pub(super) fn trace_id(span: &Value) -> Arc<str> {
    let context = span.get("context").unwrap_or(span);
    let names = ["traceId", "trace_id"];
    let found = names.iter().find_map(|name| context.get(name)?.as_text());
    found.unwrap_or_default().into()
}

fn answer(span: &TracedSpan<'_>) -> TraceAnswer {
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
