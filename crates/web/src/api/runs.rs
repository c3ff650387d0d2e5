//! `GET /api/runs`: the list of runs.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::{Extension, Json};
use planwright::planner::dates::resolve;
use planwright::store::RunFilter;
use serde::{Deserialize, Serialize};

use super::input::Parameters;
use crate::board::RunRow;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

/// The usual and the largest number of rows of a response.
const DEFAULT_ROWS: usize = 100;
const MAX_ROWS: usize = 500;

#[derive(Default, Deserialize)]
pub(crate) struct Filter {
    status: Option<String>,
    plan: Option<String>,
    client: Option<String>,
    /// A phrase of time, such as `last week`.
    time: Option<String>,
    /// A part of the id or of the plan's name.
    text: Option<String>,
    limit: Option<usize>,
    /// The last run of the previous response.
    before: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Runs {
    runs: Vec<Arc<RunRow>>,
    /// The value of `before` for the next rows, if there are more.
    next: Option<String>,
}

pub(crate) async fn list(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Parameters(filter): Parameters<Filter>,
) -> Result<Json<Runs>, ApiError> {
    blocking(move || select(&state, &visitor, &filter).map(Json)).await
}

fn select(state: &PageState, visitor: &Visitor, filter: &Filter) -> Result<Runs, ApiError> {
    let filter = Filter {
        status: filled_in(filter.status.as_ref()),
        plan: filled_in(filter.plan.as_ref()),
        client: filled_in(filter.client.as_ref()),
        time: filled_in(filter.time.as_ref()),
        text: filled_in(filter.text.as_ref()).map(|text| text.to_lowercase()),
        before: filled_in(filter.before.as_ref()),
        limit: filter.limit,
    };
    let (since, until) = match &filter.time {
        Some(phrase) => range(state, phrase)?,
        None => (None, None),
    };
    let infos = state.settings.store.runs(&RunFilter {
        since,
        ..RunFilter::default()
    })?;
    let limit = filter.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let mut rows: Vec<Arc<RunRow>> = Vec::new();
    for info in &infos {
        if until.is_some_and(|until| info.created >= until) {
            continue;
        }
        if !visitor.may_see(&state.board.owner_of(info)?) {
            continue;
        }
        let (row, _) = state.board.row(info)?;
        if filter.takes(&row) {
            rows.push(row);
        }
    }
    // Those that wait for a person come first; the store lists the newest first.
    rows.sort_by_key(|row| row.waiting == 0);
    let start = filter.before.as_ref().map_or(0, |last| {
        let position = rows.iter().position(|row| row.id.as_str() == last);
        position.map_or(rows.len(), |position| position + 1)
    });
    let mut rows = rows.split_off(start);
    let next = (rows.len() > limit).then(|| rows[limit - 1].id.to_string());
    rows.truncate(limit);
    Ok(Runs { runs: rows, next })
}

impl Filter {
    fn takes(&self, row: &RunRow) -> bool {
        let is = |wanted: &Option<String>, value: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == value
        };
        let has_status = match self.status.as_deref() {
            // A run in progress with an open call waits as well.
            Some("waiting") => row.waiting > 0 || row.status == "waiting",
            _ => is(&self.status, Some(row.status)),
        };
        let has_text = self.text.as_ref().is_none_or(|text| {
            row.id.as_str().starts_with(&**text)
                || row
                    .plan
                    .as_ref()
                    .is_some_and(|plan| plan.to_lowercase().contains(&**text))
        });
        has_status
            && has_text
            && is(&self.plan, row.plan.as_deref())
            && is(&self.client, row.client.as_deref())
    }
}

/// A parameter that is not empty: forms send empty ones for nothing.
fn filled_in(text: Option<&String>) -> Option<String> {
    text.cloned().filter(|text| !text.trim().is_empty())
}

/// The first moment of a phrase of time, and the first one after it.
fn range(
    state: &PageState,
    phrase: &str,
) -> Result<(Option<SystemTime>, Option<SystemTime>), ApiError> {
    let today = (state.settings.today)().map_err(|error| ApiError::bad(error.to_string()))?;
    let range = resolve(phrase, &today)
        .map_err(|error| ApiError::bad(error.to_string()).help(error.help()))?;
    let moment = |seconds: i64| {
        let since = u64::try_from(seconds).ok().map(Duration::from_secs)?;
        SystemTime::UNIX_EPOCH.checked_add(since)
    };
    let (from, to) = today.span(&range);
    Ok((moment(from), moment(to)))
}
