//! Cancelling, resuming and reverting a run.

mod revert;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use planwright::core::Value;
use planwright::engine::{RunId, RunOptions};
use planwright::stored::{Passphrase, PassphraseError, output_violations};
use serde::{Deserialize, Serialize};

use super::decisions::{Violations, decider};
use super::find;
use super::input::JsonBody;
use super::inspection::Inspections;
use super::step::address_of;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

pub(crate) use revert::{begin as begin_revert, is_offered, propose as propose_revert};

/// The run that a request has started, resumed or cancelled.
#[derive(Serialize)]
pub(crate) struct RunReference {
    pub(super) run: RunId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoFields {}

pub(crate) async fn cancel(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    JsonBody(NoFields {}): JsonBody<NoFields>,
) -> Result<Json<RunReference>, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &id)?;
        if state.running.cancel(&info.id) {
            return Ok(Json(RunReference { run: info.id }));
        }
        let service = &state.settings.service;
        if info.holder.is_none() {
            let run = service.cancel_idle(info.id.as_str())?;
            let summary = tokio::runtime::Handle::current().block_on(run.finish());
            if let Some(error) = summary.journal_error {
                let message = format!("the run cannot be cancelled: {error}");
                return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message));
            }
            return Ok(Json(RunReference { run: info.id }));
        }
        let person = visitor.client().map(str::to_owned);
        let person = person.or_else(|| state.settings.person.clone());
        service.cancel_stored(info.id.as_str(), person)?;
        Ok(Json(RunReference { run: info.id }))
    })
    .await
}

/// Choices about the steps of a run that is resumed.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StepChoices {
    retry: Vec<String>,
    skip: Vec<String>,
    set: BTreeMap<String, Value>,
    passphrase: Option<String>,
}

pub(crate) async fn resume(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    JsonBody(choices): JsonBody<StepChoices>,
) -> Result<Json<RunReference>, ApiError> {
    may_run(&state, &visitor)?;
    let (info, stored) = {
        let (state, visitor) = (Arc::clone(&state), visitor.clone());
        let (retries, passphrase) = (!choices.retry.is_empty(), choices.passphrase.clone());
        blocking(move || {
            let info = find(&state, &visitor, &id)?;
            if retries {
                // Repeating a call whose outcome is unknown is a decision like any other.
                require_passphrase(&state, &visitor, passphrase.as_deref())?;
            }
            let stored = state.board.stored(&info)?;
            Ok((info, stored))
        })
        .await?
    };
    let mut tools = state.settings.tools.of_run(&stored).await?;
    if stored.run.tools.simulate.is_some() {
        tools.service = tools.service.without_learning();
    }
    blocking(move || {
        let plan = stored.latest_plan()?;
        let values = (tools.external_values)(&plan)?;
        let options = RunOptions {
            guards: tools.options.guards.clone(),
            secrets: tools.options.secrets.clone(),
            seal_key: tools.options.seal_key.clone(),
            ..stored.options()
        };
        let mut resume = tools
            .service
            .resume(&state.settings.store, info.id.clone())
            .options(options)
            .secret_values(values)
            .wait_for_decisions();
        for step in choices.retry {
            resume = resume.retry(step);
        }
        for step in choices.skip {
            resume = resume.skip(step);
        }
        for (step, value) in choices.set {
            resume = resume.set(step, value);
        }
        let run = resume.start()?;
        state.running.drive(run, tools);
        Ok(Json(RunReference { run: info.id }))
    })
    .await
}

/// The output of a step that a person writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenOutput {
    run: String,
    at: String,
    output: Value,
}

pub(crate) async fn check_output(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(written): JsonBody<WrittenOutput>,
) -> Result<Json<Violations>, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &written.run)?;
        let read = Inspections::read(&state, &info)?;
        let at = address_of(&read, &written.at)?;
        let findings = output_violations(read.plan()?, &at, &written.output);
        Ok(Json(Violations { findings }))
    })
    .await
}

/// Rejects a request that starts programs, unless it is from the owner of the machine.
pub(super) fn may_run(state: &PageState, visitor: &Visitor) -> Result<(), ApiError> {
    if state.settings.tools.can_run() && visitor.client().is_none() {
        return Ok(());
    }
    Err(
        ApiError::new(StatusCode::FORBIDDEN, "this page cannot run plans")
            .help("`planwright ui` does"),
    )
}

/// Requires the passphrase, if decisions do.
fn require_passphrase(
    state: &PageState,
    visitor: &Visitor,
    entered: Option<&str>,
) -> Result<(), ApiError> {
    let is_set = Passphrase::of([&state.settings.store])?.is_set();
    if (is_set || state.settings.requires_passphrase) && (entered.is_none() || !is_set) {
        return Err(PassphraseError::Required.into());
    }
    decider(state, visitor, entered).map(drop)
}
