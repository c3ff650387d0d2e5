//! The routes of the JSON interface.

mod catalog;
mod config;
mod control;
mod decisions;
mod events;
mod input;
mod inspection;
mod run;
mod running;
mod runs;
mod sessions;
mod states;
mod step;
mod workbench;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};
use planwright::store::RunInfo;

use crate::error::ApiError;
use crate::page::PageState;
use crate::session::Visitor;

pub(crate) use inspection::Inspections;
pub(crate) use running::RunningRuns;
pub(crate) use states::StepStateEntry;

/// The routes below `/api`.
pub(crate) fn routes() -> Router<Arc<PageState>> {
    Router::new()
        .route("/session", post(sessions::open))
        .route("/session/end", post(sessions::end))
        .route("/config", get(config::show))
        .route("/codes/{code}", get(config::code))
        .route("/runs", get(runs::list))
        .route("/runs/{id}", get(run::show))
        .route("/runs/{id}/graph", get(run::graph))
        .route("/runs/{id}/timeline", get(run::timeline))
        .route("/diff", get(run::diff))
        .route("/runs/{id}/report", get(run::report))
        .route("/runs/{id}/steps/{address}", get(run::step))
        .route("/runs/{id}/calls/{address}", get(run::call))
        .route("/runs/{id}/cancel", post(control::cancel))
        .route("/runs/{id}/resume", post(control::resume))
        .route("/runs/{id}/revert", post(control::begin_revert))
        .route("/runs/{id}/revert/proposal", post(control::propose_revert))
        .route("/inbox", get(decisions::inbox))
        .route("/decisions", written(decisions::decide))
        .route("/check_arguments", written(decisions::check))
        .route("/check_output", written(control::check_output))
        .route("/tools", get(catalog::tools))
        .route("/plans", get(catalog::plans).post(catalog::save))
        .route("/plans/{name}", get(catalog::plan))
        .route("/plan/check", post(workbench::check))
        .route("/plan/convert", post(workbench::convert))
        .route("/plan/run", post(workbench::run))
        .route("/events", get(events::stream))
        .fallback(async || {
            ApiError::new(
                axum::http::StatusCode::NOT_FOUND,
                "there is no such part of the interface",
            )
        })
}

/// The largest body of a request with the arguments or the output of a call, in bytes: tools return more than people write.
const MAX_VALUE_BODY: usize = 64 * 1024 * 1024;

/// A route for values of tools that a person changes.
fn written<H: Handler<T, Arc<PageState>>, T: 'static>(handler: H) -> MethodRouter<Arc<PageState>> {
    post(handler).layer(DefaultBodyLimit::max(MAX_VALUE_BODY))
}

/// Returns the run with exactly this id, if the visitor may see it. A run of another client counts as missing. Blocks on the disk.
fn find(state: &PageState, visitor: &Visitor, id: &str) -> Result<RunInfo, ApiError> {
    let missing = || ApiError::missing("run", id);
    let info = state.settings.store.run(id).map_err(|error| match error {
        planwright::store::StoreError::Missing { .. }
        | planwright::store::StoreError::Ambiguous { .. } => missing(),
        error => error.into(),
    })?;
    let owner = state.board.owner_of(&info)?;
    if info.id.as_str() == id && visitor.may_see(&owner) {
        Ok(info)
    } else {
        Err(missing())
    }
}
