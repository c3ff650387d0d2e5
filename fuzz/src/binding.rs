//! References in plans, bound to arbitrary results of tools.

use std::collections::VecDeque;
use std::time::Duration;

use planwright_core::Value;
use planwright_core::check::{CheckContext, check};
use planwright_dialects::{ReadOptions, parse};
use planwright_engine::backend::{ErrorKind, ToolCall, ToolError, ToolOutput};
use planwright_engine::run::{Effect, RunInput, RunMachine};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{Decision, RunOptions};

use crate::dialect::tools_of;
use crate::halves;

/// The maximum number of calls of one run, above what a plan of the size of an input makes without a loop.
const MAX_CALLS: usize = 2_000;

/// Runs the plan after the NUL byte of `input`. The tools return the texts of the JSON list before it in turn, parsed by the rules for
/// MCP results; `false` makes a call fail.
///
/// # Panics
///
/// If a run makes no progress, or ends without an outcome for each step.
pub fn bind(input: &[u8]) {
    let (answers, plan) = halves(input);
    let Some(plan) = parse(plan, &ReadOptions::new("input")).plan else {
        return;
    };
    let catalog = tools_of(&plan);
    let (Some(checked), _) = check(plan, &CheckContext::new(&catalog)) else {
        return;
    };
    let steps = checked.plan().steps.len();
    let instances = checked.plan().instances.len().max(1);
    let answers = std::str::from_utf8(answers)
        .ok()
        .and_then(|text| Value::from_json(text).ok());
    let answers = answers.as_ref().and_then(Value::as_list).unwrap_or(&[]);
    let summary_steps = drive(
        RunMachine::new("run".parse().unwrap(), checked, RunOptions::default()),
        answers,
    );
    assert!(summary_steps >= steps.min(1) && summary_steps <= steps * instances + steps);
}

/// Drives `run` to its end, or until it has made too many calls. Returns the number of steps in its summary.
fn drive(mut run: RunMachine, answers: &[Value]) -> usize {
    let mut effects = Vec::new();
    let mut in_flight: VecDeque<(TaskId, Box<ToolCall>)> = VecDeque::new();
    let mut due: VecDeque<RunInput> = VecDeque::new();
    let mut now = Duration::ZERO;
    let mut calls = 0;
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Call { task, call, .. } => in_flight.push_back((task, call)),
                Effect::Abort(task) => in_flight.retain(|(other, _)| *other != task),
                Effect::Ask { task, .. } => due.push_back(RunInput::Decided {
                    task,
                    decision: Decision::Approve { args: None },
                }),
                Effect::SetTimer {
                    task,
                    timer: timer @ Timer::Pause(_),
                    ..
                } => due.push_back(RunInput::TimerFired(task, timer)),
                Effect::SetTimer { .. }
                | Effect::ClearTimer(..)
                | Effect::Learn { .. }
                | Effect::AppendRecord { .. }
                | Effect::Emit(_) => {}
            }
        }
        if run.is_done() {
            break;
        }
        now += Duration::from_millis(1);
        let input = if let Some(input) = due.pop_front() {
            input
        } else if let Some((task, call)) = in_flight.pop_front() {
            calls += 1;
            if calls > MAX_CALLS {
                RunInput::Cancel
            } else {
                answered(task, &call, answers, calls)
            }
        } else {
            panic!("the run is stuck");
        };
        run.handle(input, now, &mut effects);
    }
    run.summary().steps.len()
}

fn answered(task: TaskId, call: &ToolCall, answers: &[Value], calls: usize) -> RunInput {
    let answer = answers
        .get(calls % answers.len().max(1))
        .cloned()
        .unwrap_or_else(|| call.args.clone());
    let result = match answer {
        Value::Bool(false) => Err(ToolError::new(ErrorKind::Tool, "no")),
        Value::Text(text) => Ok(ToolOutput::text(text)),
        Value::Object(_) if answer.get("content").is_some() => {
            ToolOutput::from_call_result(&answer)
        }
        value => Ok(ToolOutput::value(value)),
    };
    RunInput::AttemptEnded {
        task,
        attempt: call.context.attempt,
        result,
    }
}
