//! Steps, items and rounds of a run: their arguments with the sources, attempts and outputs.

use std::sync::Arc;

use planwright::argument_sources::{ArgumentSource, argument_sources, step_at};
use planwright::core::Value;
use planwright::engine::backend::{ErrorKind, ToolError};
use planwright::engine::event::Address;
use planwright::engine::run::{PastCall, StepHistory};
use planwright::format::{ErrorV1, LogLineV1, LogV1, milliseconds};
use planwright::service::StepView;
use planwright::stored::listing;
use serde::Serialize;

use super::inspection::Inspection;
use super::states::StepStateEntry;
use crate::error::ApiError;

/// The largest value that is sent in full without a request for it, in bytes of JSON.
const MAX_VALUE: usize = 64 * 1024;
/// The maximum number of items, rounds or inner steps of a response.
const MAX_PARTS: usize = 1000;

/// A step, item or round of a run.
#[derive(Serialize)]
pub(crate) struct StepDetail {
    at: String,
    tool: Option<Arc<str>>,
    /// The title of the step in the plan.
    description: Option<String>,
    state: StepStateEntry,
    arguments: Option<Value>,
    sources: Vec<ArgumentSource>,
    output: Option<Value>,
    /// Images and other content, as MCP writes it.
    content: Vec<Value>,
    attempts: Vec<Attempt>,
    error: Option<ExplainedError>,
    /// The reason why it did not run.
    reason: Option<String>,
    /// True if a call of the step may have happened, so that a person must decide what follows.
    is_in_doubt: bool,
    /// The log of the step and its parts, in order.
    log: Vec<LogLineV1>,
    /// Items, rounds, or the steps of an inner plan.
    parts: Vec<Part>,
    /// The number of further parts.
    more_parts: usize,
    /// True if a long value is replaced by the beginning of its JSON, as a text.
    cut: bool,
}

/// The error of a step, with the meaning of its kind and advice.
#[derive(Serialize)]
struct ExplainedError {
    #[serde(flatten)]
    error: ErrorV1,
    help: &'static str,
}

/// A call of the step.
#[derive(Serialize)]
struct Attempt {
    n: u32,
    started_ms: f64,
    ended_ms: Option<f64>,
    /// `succeeded`, `failed`, `running`, or `unknown` if no answer came.
    status: &'static str,
    error: Option<ErrorV1>,
}

/// A part of the step.
#[derive(Serialize)]
struct Part {
    at: String,
    status: &'static str,
}

/// The address of a step, item or round as data.
///
/// # Errors
///
/// The run has no such step.
pub(crate) fn address_of(read: &Inspection, address: &str) -> Result<Arc<Address>, ApiError> {
    let mut past = read.history.steps().map(|(at, _)| at);
    let past = past.find(|at| at.to_string() == address);
    let known = past.or_else(|| Some(&read.step(address)?.at)).cloned();
    let at = known.or_else(|| planned(read, address).map(Arc::new));
    at.ok_or_else(|| ApiError::missing("step", address))
}

/// The step, item or round at `address`.
pub(crate) fn detail(
    read: &Inspection,
    address: &str,
    whole: bool,
) -> Result<StepDetail, ApiError> {
    let past = read
        .history
        .steps()
        .find(|(at, _)| at.to_string() == address);
    let summary = read.step(address);
    let plan = read.plan.checked.as_ref().ok();
    let at = address_of(read, address)?;
    let history = past.map(|(_, history)| history);
    let last = history.and_then(|history| history.calls.last());
    let is_driven = read.info.holder.is_some();
    let is_part = address.contains(['[', '#']);
    let view = match history {
        // The states of the run contain no items and rounds.
        Some(history) if is_part => StepView::of_past(history),
        Some(_) | None => read.states.step(address),
    };
    let mut cut = false;
    let mut short = |value: Option<Value>| {
        let value = value?;
        if whole {
            return Some(value);
        }
        let (value, is_cut) = shortened(value);
        cut |= is_cut;
        Some(value)
    };
    let arguments = short(
        last.map(|call| call.args.clone())
            .or_else(|| history?.asked.as_ref().map(|asked| asked.args.clone()))
            .or_else(|| summary?.args.clone()),
    );
    let output = short(
        summary
            .and_then(|summary| summary.output.clone())
            .or_else(|| {
                let answer = last?.answer.as_ref()?.as_ref().ok()?;
                Some(answer.value.clone())
            }),
    );
    let content = summary
        .map(|summary| summary.content.clone())
        .unwrap_or_default();
    let content = content
        .into_iter()
        .filter_map(|value| short(Some(value)))
        .collect();
    let error = history.and_then(|history| history.settled.as_ref()?.error.as_ref());
    let error = error.or_else(|| summary?.error.as_ref());
    let parts = summary
        .map(|summary| &summary.parts[..])
        .unwrap_or_default();
    let log = LogV1::new(
        listing(&read.info),
        read.info.created,
        &read.stored.entries,
        Some(address),
    );
    let limit = if whole { usize::MAX } else { MAX_PARTS };
    let has_more_lines = log.lines.len() > limit;
    let log = log.lines.into_iter().take(limit).map(|line| LogLineV1 {
        args: short(line.args),
        output: short(line.output),
        content: Vec::new(),
        ..line
    });
    let log: Vec<LogLineV1> = log.collect();
    cut |= has_more_lines;
    let planned = plan.and_then(|plan| step_at(plan, &at));
    Ok(StepDetail {
        at: address.to_owned(),
        tool: last
            .map(|call| Arc::clone(&call.tool))
            .or_else(|| summary?.tool.clone()),
        description: planned.and_then(|(step, _)| step.title.as_deref().map(str::to_owned)),
        state: StepStateEntry::of(&view, is_driven),
        arguments,
        sources: plan
            .map(|plan| argument_sources(plan, &at))
            .unwrap_or_default(),
        output,
        content,
        attempts: attempts(history, is_driven),
        error: error.map(ExplainedError::of),
        reason: summary.and_then(|summary| Some(summary.reason.as_ref()?.to_string())),
        is_in_doubt: history.is_some_and(|history| history.calls_in_doubt().next().is_some()),
        parts: (parts.iter().take(MAX_PARTS))
            .map(|part| Part {
                at: part.at.to_string(),
                status: part.status.as_str(),
            })
            .collect(),
        more_parts: parts.len().saturating_sub(MAX_PARTS),
        log,
        cut,
    })
}

impl ExplainedError {
    fn of(error: &ToolError) -> Self {
        let help = match error.kind {
            ErrorKind::Tool => {
                "the tool reported the error; a retry helps only if its cause is gone"
            }
            ErrorKind::Timeout => {
                "the call exceeded its time limit; `timeout` of the step sets a longer one"
            }
            ErrorKind::Unavailable => {
                "the server was not available, or its response cannot be read; `planwright servers test` tries it"
            }
            ErrorKind::Arguments => {
                "the computed arguments do not match the tool's schema; the call was not sent"
            }
            ErrorKind::Reference => "a reference of the step had no value; the call was not sent",
            ErrorKind::Approval => "a person rejected the call",
            ErrorKind::Policy => {
                "the configuration forbids the call; `planwright config` prints each rule with its source"
            }
            ErrorKind::Budget => {
                "a limit is exhausted; `planwright config` prints each limit with its source"
            }
            ErrorKind::Internal => "this is a defect of Planwright",
        };
        Self {
            error: ErrorV1::from(error),
            help,
        }
    }
}

/// Returns the address of a step of the run's own plan that has not begun; `None` if there is no such step.
fn planned(read: &Inspection, address: &str) -> Option<Address> {
    let steps = &read.plan.checked.as_ref().ok()?.plan().steps;
    let of_step = steps.iter().map(|step| Address {
        inside: None,
        instance: None,
        step: step.id.clone(),
        item: None,
        round: None,
    });
    of_step.into_iter().find(|at| at.to_string() == address)
}

fn attempts(history: Option<&StepHistory>, is_driven: bool) -> Vec<Attempt> {
    let calls = history
        .map(|history| &history.calls[..])
        .unwrap_or_default();
    let attempt = |call: &PastCall| Attempt {
        n: call.attempt,
        started_ms: milliseconds(call.sent),
        ended_ms: call.ended.map(milliseconds),
        status: match (&call.answer, call.ended) {
            (Some(Ok(_)), _) => "succeeded",
            (Some(Err(_)), _) => "failed",
            (None, None) if is_driven => "running",
            (None, _) => "unknown",
        },
        error: match &call.answer {
            Some(Err(error)) => Some(ErrorV1::from(error)),
            Some(Ok(_)) | None => None,
        },
    };
    calls.iter().map(attempt).collect()
}

/// Shortens a long value to the beginning of its JSON, or of its text. Returns true if it was shortened.
fn shortened(value: Value) -> (Value, bool) {
    let text = match &value {
        Value::Text(text) => text.to_string(),
        other => other.to_json(),
    };
    if text.len() <= MAX_VALUE {
        return (value, false);
    }
    let shown = text.get(..text.floor_char_boundary(MAX_VALUE));
    (Value::from(shown.unwrap_or_default()), true)
}
