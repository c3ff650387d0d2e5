//! The calls that a run really made, by its journal, with the calls that undo them.

use std::sync::Arc;

use planwright_core::plan::{Action, Idempotency, PlanTarget, Undo};
use planwright_core::{Plan, Step, Tool, Value};
use planwright_engine::event::Address;
use planwright_engine::journal::Record;

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
    /// The call happened, and returned this value.
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
            Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
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
