//! Stored runs: lists, open questions, decisions, the state of a run of any process.

use planwright::Error;
use planwright::Planwright;
use planwright::engine::{Decision, RunId};
use planwright::format::{OPEN_CALL_SCHEMA, OpenCallV1, RunsV1, WaitingV1};
use planwright::service::RunView;
use planwright::store::{RunFilter, Store, StoreError};
use planwright::stored::{Decider, OpenQuestion, Passphrase, StoredRunError, listing};
use serde_json::{Value, json};

/// Returns the id of the only run whose id begins with `selector`.
///
/// # Errors
///
/// No run or several have such an id.
pub(crate) fn run_id(store: &Store, selector: &str) -> Result<RunId, Error> {
    let info = store.run(selector).map_err(StoredRunError::from)?;
    Ok(info.id)
}

/// Lists the newest stored runs.
///
/// # Errors
///
/// An error of the store.
pub(crate) fn runs(
    planwright: &Planwright,
    limit: Option<usize>,
    plan: Option<String>,
) -> Result<RunsV1, Error> {
    let filter = RunFilter {
        limit,
        plan,
        ..RunFilter::default()
    };
    let runs = planwright.runs(&filter)?;
    Ok(RunsV1::new(runs.iter().map(listing).collect()))
}

/// Lists the calls of a run that wait for a decision.
///
/// # Errors
///
/// An error of the store.
pub(crate) fn waiting(planwright: &Planwright, run: &str) -> Result<WaitingV1, Error> {
    let questions = planwright.questions(run)?;
    let calls = questions.iter().map(|question| OpenCallV1 {
        schema: OPEN_CALL_SCHEMA,
        run: question.run.clone(),
        address: question.at.to_string(),
        server: question.subject.server.clone(),
        tool: question.subject.tool.clone(),
        args: question.subject.args.clone(),
        reason: question.reason.clone(),
        changes: question.changes.clone(),
        digest: question.digest(),
    });
    Ok(WaitingV1::new(calls.collect()))
}

/// The calls that a decision is about, and the person who decides.
pub(crate) struct DecidedCalls {
    pub(crate) run: String,
    /// The address or the id of the step; all calls that wait without it.
    pub(crate) step: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) passphrase: Option<String>,
}

/// Stores a decision. Returns the number of calls that it is about.
///
/// # Errors
///
/// An error of the store, or of the passphrase.
pub(crate) fn decide(
    planwright: &Planwright,
    store: &Store,
    calls: &DecidedCalls,
    decision: &Decision,
) -> Result<usize, Error> {
    let questions = planwright.questions(&calls.run)?;
    let is_chosen = |question: &&OpenQuestion| {
        let step = calls.step.as_deref();
        step.is_none_or(|step| {
            **question.at.step.text() == *step || question.at.to_string() == step
        })
    };
    let chosen: Vec<&OpenQuestion> = questions.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        let selector = calls.step.as_ref().unwrap_or(&calls.run);
        return Err(missing("call that waits", selector));
    }
    let mut decider = Decider::new(calls.by.clone());
    if let Some(entered) = &calls.passphrase {
        let passphrase = Passphrase::of([store]).map_err(StoredRunError::from)?;
        let confirmed = passphrase.confirm(entered).map_err(StoredRunError::from)?;
        decider = decider.confirmed(confirmed);
    }
    planwright.decide_all(&chosen, decision, &decider)?;
    Ok(chosen.len())
}

/// Returns the state of a stored run.
pub(crate) fn state(run: &RunId, view: &RunView) -> Value {
    json!({
        "run": run.as_str(),
        "status": view.status.map(planwright::engine::RunStatus::as_str),
        "steps": view.steps,
        "ended": view.ended,
        "calls": view.calls,
        "active": view.active.keys().map(String::as_str).collect::<Value>(),
        "waiting": view.questions.keys().map(String::as_str).collect::<Value>(),
    })
}

/// Returns the error for a selector that matches nothing.
fn missing(what: &'static str, selector: &str) -> Error {
    let missing = StoreError::Missing {
        what,
        selector: selector.to_owned(),
    };
    StoredRunError::from(missing).into()
}
