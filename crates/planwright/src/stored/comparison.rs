//! Stored runs as documents have them: in lists, and compared with each other, by their plans, inputs, and the outcome of each step.

use indexmap::IndexMap;
use planwright_core::Value;
use planwright_core::check::CheckedPlan;
use planwright_engine::run::{
    History, MASK, StepHistory, StepSummary, redacted_inputs, without_secrets,
};
use planwright_store::{RunInfo, RunState, Store};

use super::{StoredRun, StoredRunError};
use crate::format::{
    DIFF_SCHEMA, DiffV1, ErrorV1, PlanDiffV1, RunListingV1, StepDiffV1, StepSideV1, changes,
};

/// Compares two stored runs, in the order of the second one's plan.
///
/// # Errors
///
/// A run cannot be read, or its plan is not sound any more.
pub fn compare_runs(
    store: &Store,
    before: &RunInfo,
    after: &RunInfo,
) -> Result<DiffV1, StoredRunError> {
    Ok(compare(
        Side::read(store, before)?,
        Side::read(store, after)?,
    ))
}

/// A run on one side of the comparison.
struct Side {
    run: RunListingV1,
    plan: CheckedPlan,
    inputs: Value,
    steps: IndexMap<String, StepState>,
}

/// The outcome of a step.
struct StepState {
    side: StepSideV1,
    args: Option<Value>,
    output: Option<Value>,
}

impl Side {
    fn read(store: &Store, info: &RunInfo) -> Result<Self, StoredRunError> {
        let stored = StoredRun::read(store, info.id.as_str())?;
        let plan = stored.latest_plan()?;
        let mut steps = IndexMap::new();
        match stored.replayed(&info.id) {
            Ok(replayed) => collect(&replayed.summary.steps, &mut steps),
            Err(_) => by_history(&History::new(&stored.entries), &mut steps),
        }
        Ok(Self {
            run: listing(info),
            inputs: inputs(&plan),
            plan,
            steps,
        })
    }
}

/// Returns the inputs of a plan, with defaults for those that were not given.
fn inputs(plan: &CheckedPlan) -> Value {
    let mut inputs = redacted_inputs(plan, &[]);
    let defaults = plan.plan().inputs.iter().filter_map(|input| {
        let default = input.default.clone()?;
        Some((input.name.clone(), default))
    });
    for (name, default) in without_secrets(plan.plan(), &defaults.collect()) {
        if default.as_text() != Some(MASK) {
            inputs.entry(name).or_insert(default);
        }
    }
    Value::from(inputs)
}

fn collect(steps: &[StepSummary], found: &mut IndexMap<String, StepState>) {
    for step in steps {
        let took = match (step.started, step.ended) {
            (Some(started), Some(ended)) => Some(ended.saturating_sub(started)),
            _ => None,
        };
        let state = StepState {
            side: StepSideV1 {
                status: step.status.as_str(),
                attempts: step.attempts,
                duration_ms: took.map(|took| took.as_secs_f64() * 1000.0),
                error: step.error.as_ref().map(ErrorV1::from),
            },
            args: step.args.clone(),
            output: step.output.clone(),
        };
        found.insert(step.at.to_string(), state);
        collect(&step.parts, found);
    }
}

/// Adds the outcomes of steps from their stored history only.
fn by_history(history: &History, found: &mut IndexMap<String, StepState>) {
    for (at, past) in history.steps() {
        found.insert(at.to_string(), of_past(past));
    }
    found.sort_unstable_keys();
}

fn of_past(past: &StepHistory) -> StepState {
    let call = past.calls.last();
    let end = past.settled.as_ref();
    let started = end.and_then(|end| end.started);
    let took = end.and_then(|end| Some(end.ended.saturating_sub(started?)));
    let error = end.and_then(|end| end.error.as_ref());
    StepState {
        side: StepSideV1 {
            status: end.map_or("not_run", |end| end.status.as_str()),
            attempts: past.attempts(),
            duration_ms: took.map(|took| took.as_secs_f64() * 1000.0),
            error: error.map(ErrorV1::from),
        },
        args: call.map(|call| call.args.clone()),
        output: call
            .and_then(|call| call.answer.as_ref())
            .and_then(|answer| answer.as_ref().ok())
            .map(|output| output.value.clone()),
    }
}

fn compare(mut before: Side, after: Side) -> DiffV1 {
    let plan = plans(&before.plan, &after.plan);
    let inputs = changes(Some(&before.inputs), Some(&after.inputs));
    let mut steps: Vec<StepDiffV1> = Vec::new();
    for (address, state) in after.steps {
        let old = before.steps.shift_remove(&address);
        steps.push(step(address, old, Some(state)));
    }
    for (address, old) in before.steps {
        steps.push(step(address, Some(old), None));
    }
    let same = plan.same
        && inputs.is_empty()
        && before.run.status == after.run.status
        && steps.iter().all(|step| step.same);
    DiffV1 {
        schema: DIFF_SCHEMA,
        same,
        duration_ratio: ratio(Some(before.run.duration_ms), Some(after.run.duration_ms)),
        before: before.run,
        after: after.run,
        plan,
        inputs,
        steps,
    }
}

fn plans(before: &CheckedPlan, after: &CheckedPlan) -> PlanDiffV1 {
    let ids = |plan: &CheckedPlan| -> Vec<String> {
        let steps = plan.plan().steps.iter();
        steps.map(|step| step.id.to_string()).collect()
    };
    let digest = |plan: &CheckedPlan, id: &str| {
        let at = usize::try_from(plan.step_index(id)?).ok()?;
        plan.step_digest(at)
    };
    let lacks = |plan: &CheckedPlan, id: &str| plan.step_index(id).is_none();
    let (old, new) = (ids(before), ids(after));
    PlanDiffV1 {
        same: before.digest() == after.digest(),
        added: new.iter().filter(|id| lacks(before, id)).cloned().collect(),
        removed: old.iter().filter(|id| lacks(after, id)).cloned().collect(),
        changed: new
            .iter()
            .filter(|id| !lacks(before, id) && digest(before, id) != digest(after, id))
            .cloned()
            .collect(),
    }
}

fn step(address: String, before: Option<StepState>, after: Option<StepState>) -> StepDiffV1 {
    let part = |state: &Option<StepState>, part: fn(&StepState) -> Option<&Value>| {
        state.as_ref().and_then(part).cloned()
    };
    let args = |state: &Option<StepState>| part(state, |state| state.args.as_ref());
    let output = |state: &Option<StepState>| part(state, |state| state.output.as_ref());
    let args = changes(args(&before).as_ref(), args(&after).as_ref());
    let output = changes(output(&before).as_ref(), output(&after).as_ref());
    let (before, after) = (
        before.map(|state| state.side),
        after.map(|state| state.side),
    );
    let without_time = |side: &Option<StepSideV1>| {
        side.clone().map(|side| StepSideV1 {
            duration_ms: None,
            ..side
        })
    };
    let took = |side: &Option<StepSideV1>| side.as_ref().and_then(|side| side.duration_ms);
    StepDiffV1 {
        address,
        same: args.is_empty() && output.is_empty() && without_time(&before) == without_time(&after),
        duration_ratio: ratio(took(&before), took(&after)),
        before,
        after,
        args,
        output,
    }
}

/// Returns the second time as a multiple of the first, to the hundredth.
fn ratio(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    let (before, after) = (before?, after?);
    (0.0 < before).then(|| (after / before * 100.0).round() / 100.0)
}

/// Returns a run as documents list it.
pub fn listing(info: &RunInfo) -> RunListingV1 {
    let holder = info.holder.as_ref();
    // The name of a holder without a lock file is unknown.
    let known = holder.filter(|holder| holder.pid != 0);
    RunListingV1 {
        status: match (holder, info.state) {
            (Some(_), _) => "running",
            (None, RunState::Ended(status)) => status.as_str(),
            (None, RunState::Open) => "interrupted",
        },
        imported: info.imported.is_some(),
        pid: known.map(|holder| holder.pid),
        host: known.map(|holder| holder.host.clone()),
        plan: info.plan.clone(),
        digest: info.digest.clone(),
        dialect: info.dialect.clone(),
        steps: info.steps,
        // A step that ended before the plan was replaced may not be in the plan any more.
        done: info.done.min(info.steps),
        calls: info.calls,
        ..RunListingV1::new(info.id.clone(), info.created, info.duration)
    }
}
