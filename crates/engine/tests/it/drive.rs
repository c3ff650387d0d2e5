//! Drives a run by hand: calls end in the order that the test picks, and their outputs follow from their arguments.

use std::collections::BTreeSet;
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, check};
use planwright_core::{Catalog, Plan, Tool, Value};
use planwright_engine::backend::{ErrorKind, ToolCall, ToolError, ToolOutput};
use planwright_engine::run::{Effect, RunInput, RunMachine};
use planwright_engine::schedule::TaskId;
use planwright_engine::{RunOptions, RunSummary};

/// A catalog with one tool, `t`.
pub(crate) fn catalog() -> Catalog {
    [Tool::new("s", "t"), Tool::new("s", "u")]
        .into_iter()
        .collect()
}

/// Returns the checked plan.
pub(crate) fn sound(plan: Plan) -> CheckedPlan {
    let catalog = catalog();
    let (checked, diagnostics) = check(plan, &CheckContext::new(&catalog));
    checked.unwrap_or_else(|| panic!("rejected: {diagnostics:#?}"))
}

/// The summary of a run, with the order in which calls began and ended.
pub(crate) struct Driven {
    pub(crate) summary: RunSummary,
    /// `+step` where a call began, `-step` where one ended.
    pub(crate) log: Vec<String>,
    pub(crate) maximum: usize,
}

/// Runs `plan`; `choose` picks the call in flight that ends next. Steps in `failing` fail.
pub(crate) fn drive(
    plan: CheckedPlan,
    options: RunOptions,
    failing: &BTreeSet<String>,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Driven {
    let mut run = RunMachine::new("run".parse().unwrap(), plan, options);
    let mut effects = Vec::new();
    let mut in_flight: Vec<(TaskId, ToolCall)> = Vec::new();
    let mut log = Vec::new();
    let mut maximum = 0;
    let mut clock = 0;
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Call { task, call, .. } => {
                    log.push(format!("+{}", call.context.step));
                    in_flight.push((task, *call));
                }
                Effect::Abort(task) => in_flight.retain(|(other, _)| *other != task),
                _ => {}
            }
        }
        maximum = maximum.max(in_flight.len());
        if run.is_done() || in_flight.is_empty() {
            break;
        }
        let (task, call) = in_flight.remove(choose(in_flight.len()));
        log.push(format!("-{}", call.context.step));
        let result = if failing.contains(call.context.step.as_str()) {
            Err(ToolError::new(ErrorKind::Tool, "no"))
        } else {
            Ok(ToolOutput::value(Value::object([
                ("of", Value::from(call.context.step.as_str())),
                ("args", call.args.clone()),
            ])))
        };
        clock += 1;
        run.handle(
            RunInput::AttemptEnded {
                task,
                attempt: call.context.attempt,
                result,
            },
            Duration::from_millis(clock),
            &mut effects,
        );
    }
    assert!(run.is_done(), "the run is stuck: {log:?}");
    Driven {
        summary: run.summary(),
        log,
        maximum,
    }
}
