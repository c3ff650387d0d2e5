//! Loops with a body of several calls: sequences of tools that are repeated, such as `find, refund, find, refund`.
//!
//! The calls of each round are folded to one call of a block, whose arguments are what differs between the rounds. Then the block is like a tool:
//! its repeated calls become a loop, whose step runs the body as an inner plan.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Action, Node, Plan, PlanCall, PlanTarget, Step};
use planwright_core::{Catalog, Object, StepId, Value};

use super::finding::{Finding, FindingKind};
use super::{Generalization, TraceContext, generalize_calls};
use crate::trace::{TraceAnswer, TracedCall};

/// Maximum number of calls of a body.
const MAX_BODY: usize = 4;

/// A body of several calls, as a tool.
#[derive(Debug)]
pub(super) struct Block {
    /// The name, which no tool of the traces has.
    pub(super) name: Arc<str>,
    /// The tools.
    pub(super) body: Vec<Arc<str>>,
    plan: Plan,
    /// The findings about the body.
    pub(super) findings: Vec<Finding>,
}

impl Block {
    /// Returns the step that runs the body.
    pub(super) fn step(&self, id: StepId, args: Node) -> Step {
        let call = PlanCall {
            target: PlanTarget::Inline(Box::new(self.plan.clone())),
            scopes: Vec::new(),
        };
        Step::new(id, Action::Plan(call), args)
    }
}

/// Returns the first body that a trace repeats and that is not among `rejected`.
pub(super) fn repeated(
    traces: &[Vec<TracedCall>],
    rejected: &HashSet<Vec<Arc<str>>>,
) -> Option<Vec<Arc<str>>> {
    for trace in traces {
        for start in 0..trace.len() {
            for length in 2..=MAX_BODY {
                let Some(body) = tools(trace, start, length) else {
                    break;
                };
                let is_one_tool = body.iter().all(|tool| Some(tool) == body.first());
                let is_repeated = || tools(trace, start + length, length).as_ref() == Some(&body);
                if !is_one_tool && !rejected.contains(&body) && is_repeated() {
                    return Some(body);
                }
            }
        }
    }
    None
}

/// Folds the rounds of a body in all traces, whose requests are `asked`; `None` if they do not have one form.
pub(super) fn fold(
    traces: &[Vec<TracedCall>],
    body: &[Arc<str>],
    catalog: &Catalog,
    asked: &[&str],
) -> Option<(Vec<Vec<TracedCall>>, Block)> {
    let starts: Vec<Vec<usize>> = traces.iter().map(|trace| rounds(trace, body)).collect();
    let mut inner: Vec<Vec<TracedCall>> = Vec::new();
    for (trace, starts) in traces.iter().zip(&starts) {
        for start in starts {
            inner.push(trace.get(*start..start + body.len())?.to_vec());
        }
        // A call beside the last one of a round cannot depend on it.
        let is_parallel = starts.iter().any(|start| {
            let (last, next) = (start + body.len() - 1, start + body.len());
            match (trace.get(last), trace.get(next)) {
                (Some(last), Some(next)) => last.round == next.round,
                _ => false,
            }
        });
        if is_parallel {
            return None;
        }
    }
    let context = TraceContext {
        requests: vec![None; inner.len()],
        replies: Vec::new(),
        asked: asked.to_vec(),
        is_body: true,
    };
    let Generalization {
        steps,
        inputs,
        mut findings,
        known,
        ..
    } = generalize_calls(&inner, context, Vec::new(), Vec::new());
    // Without a difference, nothing says how often the body is repeated.
    if inputs.is_empty() || steps.len() < 2 {
        return None;
    }
    if starts.iter().filter(|starts| !starts.is_empty()).count() == 1 {
        let message = format!(
            "the rounds of `{}` are those of a single trace, which does not tell constants from inputs",
            body.join(", ")
        );
        findings.push(Finding::new(FindingKind::SingleTrace, message));
    }
    let bare = body.iter().map(|tool| {
        let name = tool.rsplit(['.', '/']).next().unwrap_or(tool);
        name.rsplit("__").next().unwrap_or(name)
    });
    let mut name = bare.collect::<Vec<_>>().join("_and_");
    while traces.iter().flatten().any(|call| *call.tool == *name) {
        name.push('_');
    }
    let name: Arc<str> = name.into();
    let mut number = 0;
    let mut folded = Vec::with_capacity(traces.len());
    for (trace, starts) in traces.iter().zip(&starts) {
        let mut calls = Vec::with_capacity(trace.len());
        let mut next = 0;
        for start in starts {
            calls.extend(trace.get(next..*start)?.iter().cloned());
            let mut args = Object::default();
            for input in &inputs {
                args.insert(Arc::clone(&input.name), input.values.get(number)?.clone()?);
            }
            let mut outputs = Object::default();
            let mut is_whole = true;
            for step in &known.steps {
                match step.answers.get(number) {
                    Some(Some(answer)) => {
                        outputs.insert(Arc::clone(step.id.text()), answer.clone());
                    }
                    Some(None) | None => is_whole = false,
                }
            }
            calls.push(TracedCall {
                tool: Arc::clone(&name),
                args: args.into(),
                answer: if is_whole {
                    TraceAnswer::Output(Value::from(outputs))
                } else {
                    TraceAnswer::Missing
                },
                round: trace.get(*start)?.round,
            });
            number += 1;
            next = start + body.len();
        }
        calls.extend(trace.get(next..)?.iter().cloned());
        folded.push(calls);
    }
    let block = Block {
        name,
        body: body.to_vec(),
        plan: Plan {
            inputs: inputs
                .iter()
                .map(super::LearnedInput::declaration)
                .collect(),
            steps: super::order::ordered(steps, catalog),
            ..Plan::default()
        },
        findings,
    };
    Some((folded, block))
}

/// Returns the positions at which rounds of a body begin: those that follow one another, or the only one.
fn rounds(trace: &[TracedCall], body: &[Arc<str>]) -> Vec<usize> {
    let mut repeated = Vec::new();
    let mut single = Vec::new();
    let mut start = 0;
    while start < trace.len() {
        match count(trace, start, body) {
            0 => start += 1,
            count => {
                let found = if count > 1 {
                    &mut repeated
                } else {
                    &mut single
                };
                for _ in 0..count {
                    found.push(start);
                    start += body.len();
                }
            }
        }
    }
    match (repeated.is_empty(), single.len()) {
        (false, _) => repeated,
        (true, 1) => single,
        (true, _) => Vec::new(),
    }
}

/// Returns how often a body is repeated from `start`.
fn count(trace: &[TracedCall], start: usize, body: &[Arc<str>]) -> usize {
    let is_body = |number: &usize| {
        tools(trace, start + number * body.len(), body.len()).is_some_and(|tools| tools == body)
    };
    (0..trace.len()).take_while(is_body).count()
}

fn tools(trace: &[TracedCall], start: usize, length: usize) -> Option<Vec<Arc<str>>> {
    let calls = trace.get(start..start + length)?.iter();
    Some(calls.map(|call| Arc::clone(&call.tool)).collect())
}
