//! Answers from a trace, in place of tools: the proof that a plan makes the calls of a trace.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use planwright_core::{Catalog, ServerName, Tool, Value};
use planwright_engine::backend::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

use crate::trace::{TracedCall, find_tool};

/// A backend that answers the calls of a trace, each once, by tool and exact arguments.
#[derive(Clone, Debug)]
pub struct TraceBackend(Arc<Mutex<Replay>>);

#[derive(Debug, Default)]
struct Replay {
    recorded: Vec<RecordedCall>,
    /// The positions of the recorded calls that were made, in the order of the calls.
    made: Vec<usize>,
    additional: Vec<CallDifference>,
}

#[derive(Debug)]
struct RecordedCall {
    server: ServerName,
    tool: Arc<str>,
    args: Value,
    answer: Value,
    changes: bool,
    is_made: bool,
}

/// A call that only a trace or only the plan makes.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDifference {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
}

/// The comparison of a run over recorded answers with its trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceComparison {
    /// The number of calls that the plan and the trace make.
    pub same: usize,
    /// The calls of the trace that the plan does not make.
    pub missing: Vec<CallDifference>,
    /// The calls of the plan that the trace does not have.
    pub additional: Vec<CallDifference>,
    /// The calls that change something and came before an earlier one of the trace.
    pub reordered: Vec<CallDifference>,
}

impl TraceComparison {
    /// Returns true if the plan made the calls of the trace, those that change something in the same order.
    pub fn is_same(&self) -> bool {
        self.missing.is_empty() && self.additional.is_empty() && self.reordered.is_empty()
    }
}

impl TraceBackend {
    /// The answers to `calls`, whose tools are those of `catalog`. Calls of other tools are never answered.
    pub fn new(calls: &[TracedCall], catalog: &Catalog) -> Self {
        let recorded = calls.iter().map(|call| {
            let tool = find_tool(catalog, &call.tool);
            RecordedCall {
                server: tool
                    .as_ref()
                    .map_or_else(|| "".into(), |tool| tool.server.clone()),
                tool: tool
                    .as_ref()
                    .map_or_else(|| Arc::clone(&call.tool), |tool| Arc::clone(&tool.name)),
                args: call.args.clone(),
                answer: call.answer.output().cloned().unwrap_or_default(),
                changes: !tool.is_some_and(|tool| tool.merely_reads()),
                is_made: false,
            }
        });
        Self(Arc::new(Mutex::new(Replay {
            recorded: recorded.collect(),
            ..Replay::default()
        })))
    }

    /// Compares the calls so far with the trace.
    pub fn report(&self) -> TraceComparison {
        let replay = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let difference = |call: &RecordedCall| CallDifference {
            tool: format!("{}.{}", call.server, call.tool),
            args: call.args.clone(),
        };
        let changes = replay.made.iter().filter_map(|made| {
            let call = replay.recorded.get(*made)?;
            call.changes.then_some((*made, call))
        });
        let mut last = None;
        let mut reordered = Vec::new();
        for (position, call) in changes {
            if last.is_some_and(|last| position < last) {
                reordered.push(difference(call));
            }
            last = last.max(Some(position));
        }
        TraceComparison {
            same: replay.made.len(),
            missing: replay
                .recorded
                .iter()
                .filter(|call| !call.is_made)
                .map(difference)
                .collect(),
            additional: replay.additional.clone(),
            reordered,
        }
    }

    fn answer(&self, tool: &Tool, args: &Value) -> Result<ToolOutput, ToolError> {
        let mut replay = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut recorded = replay.recorded.iter_mut().enumerate();
        let found = recorded.find(|(_, call)| {
            !call.is_made
                && call.server == tool.server
                && call.tool == tool.name
                && same(&call.args, args)
        });
        if let Some((position, call)) = found {
            call.is_made = true;
            let output = ToolOutput::value(call.answer.clone());
            replay.made.push(position);
            return Ok(output);
        }
        replay.additional.push(CallDifference {
            tool: tool.qualified_name().to_string(),
            args: args.clone(),
        });
        Err(ToolError::new(
            ErrorKind::Tool,
            "the trace has no such call",
        ))
    }
}

impl ToolBackend for TraceBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        async move { self.answer(&call.tool, &call.args) }.boxed()
    }
}

/// Compares values; numbers by their value, since `1` and `1.0` are one number for a tool.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other.iter())
                    .all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}
