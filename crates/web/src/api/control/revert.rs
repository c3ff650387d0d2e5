//! Undoing what a run did: the proposal that a person reads, and the run that makes exactly what was read.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use planwright::core::Tool;
use planwright::engine::{RunOptions, RunStatus};
use planwright::format::RevertV1;
use planwright::service::{RunSpec, RunStorage};
use planwright::store::{LeaseHolder, RunInfo, RunState};
use planwright::stored::StoredRun;
use serde::{Deserialize, Serialize};

use super::{NoFields, RunReference, may_run};
use crate::api::find;
use crate::api::input::JsonBody;
use crate::api::workbench::inbox_approver;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;
use crate::tools::OpenRevert;

/// The calls that a revert would make and those that stay, with the digest of exactly that.
#[derive(Serialize)]
pub(crate) struct ProposedRevert {
    #[serde(flatten)]
    document: RevertV1,
    digest: String,
}

pub(crate) async fn propose(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    JsonBody(NoFields {}): JsonBody<NoFields>,
) -> Result<Json<ProposedRevert>, ApiError> {
    let OpenRevert { revert, tools, .. } = prepare(&state, visitor, id).await?;
    let proposed = ProposedRevert {
        document: revert.document(),
        digest: revert.digest(),
    };
    // The run can be resumed while its tools are being closed.
    drop(revert);
    tools.guard.close().await;
    Ok(Json(proposed))
}

/// The consent of a person to a revert.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevertConsent {
    /// The digest of the proposal that the person has read.
    digest: String,
}

pub(crate) async fn begin(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    JsonBody(consent): JsonBody<RevertConsent>,
) -> Result<Json<RunReference>, ApiError> {
    let prepared = prepare(&state, visitor, id).await?;
    let guard = Arc::clone(&prepared.tools.guard);
    let started = blocking(move || {
        if prepared.revert.digest() != consent.digest {
            return Err(ApiError::conflict(
                "the calls to undo are no longer those that were shown",
            )
            .help("look at them again"));
        }
        start(&state, prepared)
    })
    .await;
    if started.is_err() {
        guard.close().await;
    }
    started.map(Json)
}

/// Reads what a run did, and opens the tools that undo it. As long as the result exists, no process resumes or reverts the run.
async fn prepare(
    state: &Arc<PageState>,
    visitor: Visitor,
    id: String,
) -> Result<OpenRevert, ApiError> {
    may_run(state, &visitor)?;
    let (info, stored) = {
        let state = Arc::clone(state);
        blocking(move || {
            let info = find(&state, &visitor, &id)?;
            let stored = state.board.stored(&info)?;
            Ok((info, stored))
        })
        .await?
    };
    if !is_offered(&info, &stored) {
        return Err(ApiError::conflict(
            "only a run that has ended, and that may have changed something, is reverted",
        ));
    }
    Ok(state.settings.tools.revert(&info.id, &stored).await?)
}

/// Starts the run that reverts. Its calls that need consent wait in the inbox.
fn start(state: &PageState, prepared: OpenRevert) -> Result<RunReference, ApiError> {
    let OpenRevert {
        mut revert,
        plan,
        mut tools,
    } = prepared;
    let Some((plan, loaded)) = plan else {
        return Err(ApiError::conflict("there is nothing to undo"));
    };
    if revert.sources().simulate.is_some() {
        tools.service = tools.service.without_learning();
    }
    let now = (state.settings.now)();
    let store = &state.settings.store;
    let run = revert.id.clone();
    let started = tools.service.launch(RunSpec {
        id: run.clone(),
        options: RunOptions {
            secret_values: (tools.external_values)(&plan)?,
            ..tools.options.clone()
        },
        approver: inbox_approver(store),
        client: revert.client().map(Arc::from),
        leases: revert.take_leases(),
        storage: RunStorage::New {
            store: store.clone(),
            holder: LeaseHolder::this_process("", now),
            run: Box::new(revert.new_run(&loaded, now)),
        },
        ..RunSpec::new(plan)
    })?;
    state.running.drive(started, tools);
    Ok(RunReference { run })
}

/// Returns true if a run can be reverted: it has ended or was interrupted, waits for nothing, and has made calls that changed something.
/// Whether they can be undone is said by the proposal.
pub(crate) fn is_offered(info: &RunInfo, stored: &StoredRun) -> bool {
    let is_over = match info.state {
        RunState::Open => true,
        RunState::Ended(status) => status != RunStatus::Waiting,
    };
    let tools = stored.process.iter().flat_map(|process| &process.tools);
    let mut tools = tools.map(Tool::from);
    is_over
        && info.holder.is_none()
        && 0 < info.calls
        && stored.run.reverts.is_none()
        && stored.driving_engine().is_none()
        && tools.any(|tool| !tool.merely_reads())
}
