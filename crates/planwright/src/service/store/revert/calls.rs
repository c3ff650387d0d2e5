//! The calls that a run really made, by its journal, with the calls that undo them.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::plan::{Action, Idempotency, PlanTarget, Undo};
use planwright_core::{Plan, Step, Tool, Value};
use planwright_engine::event::Address;
use planwright_engine::journal::Record;
use planwright_engine::run::Choice;

use crate::format::{PlanTextV1, ProcessV1};
use crate::loaded_plan::LoadedPlan;
use crate::stored::{StoredRun, StoredRunError};

/// A call that a run made, or may have made.
#[derive(Debug)]
pub(super) struct MadeCall {
    /// The number of the journal entry that says that it was sent.
    pub(super) entry: usize,
    /// The number of the entry with its answer; that of the call itself if there is none.
    pub(super) ended: usize,
    pub(super) at: Arc<Address>,
    attempt: u32,
    /// The tool, as it was when the run called it.
    pub(super) tool: Tool,
    pub(super) args: Value,
    pub(super) outcome: RecordedOutcome,
    /// The undo of the step.
    pub(super) undo: Option<Undo>,
    /// True if a repetition of the call has no further effect.
    is_repeatable: bool,
}

/// The outcome of a call that did not certainly fail.
#[derive(Debug)]
pub(super) enum RecordedOutcome {
    /// The call happened, and returned this value, or a person said so.
    Happened(Value),
    /// No answer says whether it happened.
    Unknown,
}

/// Returns the calls of `stored` that happened or may have happened, in the order in which they were sent. `configured` gives a tool the
/// settings of the configuration.
pub(super) fn made_calls(
    stored: &StoredRun,
    configured: &(dyn Fn(Tool) -> Tool + Sync),
) -> Result<Vec<MadeCall>, StoredRunError> {
    let mut plan = parsed(&stored.run.plan);
    let mut tools: Vec<Tool> = Vec::new();
    let mut calls: Vec<MadeCall> = Vec::new();
    for (index, entry) in stored.entries.iter().enumerate() {
        match &entry.record {
            Record::Opened { header, .. } => {
                let process = ProcessV1::from_value(header)?;
                if let Some(text) = &process.plan {
                    plan = parsed(text);
                }
                tools = process.tools.iter().map(Tool::from).collect();
                // A process may have died before it reached the step.
                for chosen in &process.choices {
                    let (step, choice) = chosen.choice()?;
                    let is_at = |at: &Address| at.to_string() == *step;
                    settle(&mut calls, &is_at, &choice, index);
                }
            }
            Record::Sent {
                at,
                server,
                tool,
                attempt,
                args,
                ..
            } => {
                let mut known = tools.iter();
                let known = known.find(|known| known.server == *server && known.name == *tool);
                let unknown = || Tool::new(server.clone(), Arc::clone(tool));
                let tool = configured(known.cloned().unwrap_or_else(unknown));
                let step = plan.plan.as_ref().and_then(|of| step_at(of, &plan, at));
                let idempotency = step.map(|step| step.idempotency);
                calls.push(MadeCall {
                    entry: index,
                    ended: index,
                    at: Arc::clone(at),
                    attempt: *attempt,
                    args: args.clone(),
                    outcome: RecordedOutcome::Unknown,
                    undo: step.and_then(|step| step.undo.as_deref().cloned()),
                    is_repeatable: tool.is_repeatable()
                        || idempotency == Some(Idempotency::Idempotent),
                    tool,
                });
            }
            Record::Answered {
                at,
                attempt,
                result,
            } => {
                let is_it = |call: &MadeCall| call.at == *at && call.attempt == *attempt;
                let Some(found) = calls.iter().rposition(is_it) else {
                    continue;
                };
                match result {
                    Ok(output) => {
                        if let Some(call) = calls.get_mut(found) {
                            let value = output.value.clone();
                            call.outcome = RecordedOutcome::Happened(value);
                            call.ended = index;
                        }
                    }
                    Err(error) if error.leaves_outcome_unknown() => {}
                    Err(_) => {
                        calls.remove(found);
                    }
                }
            }
            Record::Chosen { at, choice } => {
                settle(&mut calls, &|called| called == &**at, choice, index);
            }
            Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }
    remove_repeated(&mut calls);
    Ok(calls)
}

/// Applies what a person has said about the calls of a place, in the entry `index`.
fn settle(
    calls: &mut Vec<MadeCall>,
    is_at: &dyn Fn(&Address) -> bool,
    choice: &Choice,
    index: usize,
) {
    match choice {
        // It did not happen.
        Choice::Retry => calls
            .retain(|call| !is_at(&call.at) || !matches!(call.outcome, RecordedOutcome::Unknown)),
        // It happened. The header of a process and its journal state the same choice, so only the last call counts.
        Choice::Set(value) => {
            let last = calls.iter_mut().rev().find(|call| is_at(&call.at));
            if let Some(call) = last.filter(|call| matches!(call.outcome, RecordedOutcome::Unknown))
            {
                call.outcome = RecordedOutcome::Happened(value.clone());
                call.ended = index;
            }
        }
        Choice::Skip => {}
    }
}

/// Returns the steps, items and rounds of a run whose output a person has set, by their addresses.
pub(super) fn set_steps(stored: &StoredRun) -> Result<BTreeSet<Arc<str>>, StoredRunError> {
    let mut set = BTreeSet::new();
    let mut add = |step: Arc<str>, choice: &Choice| match choice {
        Choice::Set(_) => {
            set.insert(step);
        }
        Choice::Retry | Choice::Skip => {
            set.remove(&step);
        }
    };
    for entry in &stored.entries {
        if let Some(header) = entry.record.header() {
            for chosen in ProcessV1::from_value(header)?.choices {
                let (step, choice) = chosen.choice()?;
                add(step, &choice);
            }
        } else if let Record::Chosen { at, choice } = &entry.record {
            add(at.to_string().into(), choice);
        }
    }
    Ok(set)
}

/// Removes the calls in doubt that a later call repeated without a further effect: the later one stands for both.
fn remove_repeated(calls: &mut Vec<MadeCall>) {
    let is_repeated = |index: usize, call: &MadeCall| {
        let mut later = calls.iter().skip(index + 1);
        call.is_repeatable
            && matches!(call.outcome, RecordedOutcome::Unknown)
            && later.any(|later| later.at == call.at && later.args == call.args)
    };
    let repeated: Vec<usize> = calls
        .iter()
        .enumerate()
        .filter(|(index, call)| is_repeated(*index, call))
        .map(|(_, call)| call.entry)
        .collect();
    calls.retain(|call| !repeated.contains(&call.entry));
}

fn parsed(text: &PlanTextV1) -> LoadedPlan {
    LoadedPlan::from_stored(text, planwright_core::Object::default())
}

/// Returns the step of `plan`, or of a plan that it runs, that an address names.
fn step_at<'a>(plan: &'a Plan, loaded: &'a LoadedPlan, at: &Address) -> Option<&'a Step> {
    let plan = match &at.inside {
        None => plan,
        Some(outer) => match &step_at(plan, loaded, outer)?.action {
            Action::Plan(call) => match &call.target {
                PlanTarget::Inline(inner) => inner,
                PlanTarget::Named(name) => loaded.library.get(&name.text)?.as_ref(),
            },
            Action::Tool(_) | Action::Value(_) => return None,
        },
    };
    plan.steps.iter().find(|step| step.id == at.step)
}
