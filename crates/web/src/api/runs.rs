//! `GET /api/runs`: the list of runs.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::{Extension, Json};
use planwright::engine::{RunId, RunStatus};
use planwright::planner::dates::resolve;
use planwright::store::{RunFilter, RunInfo, RunState};
use serde::{Deserialize, Serialize};

use super::input::Parameters;
use crate::board::RunRow;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

/// The usual and the largest number of rows of a response.
const DEFAULT_ROWS: usize = 100;
const MAX_ROWS: usize = 500;

/// The statuses of rows.
const STATUSES: [&str; 7] = [
    "succeeded",
    "failed",
    "waiting",
    "cancelled",
    "running",
    "interrupted",
    "unreadable",
];

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
    if let Some(status) = &filter.status
        && !STATUSES.contains(&&**status)
    {
        let message = format!("no run has the status `{status}`");
        let help = format!("the statuses are {}", STATUSES.join(", "));
        return Err(ApiError::bad(message).help(help));
    }
    let (since, until) = match &filter.time {
        Some(phrase) => range(state, phrase)?,
        None => (None, None),
    };
    let limit = filter.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let mut list = RowList::default();
    let shown = |info: &RunInfo| -> Result<Option<Arc<RunRow>>, ApiError> {
        let is_later = until.is_some_and(|until| info.created >= until);
        if is_later || !visitor.may_see(&state.board.owner_of(info)?) {
            return Ok(None);
        }
        let (row, _) = state.board.row(info)?;
        Ok(Some(row).filter(|row| filter.takes(row)))
    };
    // Those that wait for a person come first; the store lists the newest first.
    let store = &state.settings.store;
    let mut asking = Vec::new();
    for status in [RunState::Open, RunState::Ended(RunStatus::Waiting)] {
        asking.extend(store.runs(&RunFilter {
            since,
            state: Some(status),
            ..RunFilter::default()
        })?);
    }
    asking.sort_by_key(|info| Reverse(info.created));
    for info in &asking {
        list.add(shown(info)?.filter(|row| row.waiting > 0));
    }
    // Of the others, only as many as the response needs are read.
    let (mut read, mut count) = (0, 2 * limit);
    loop {
        let infos = store.runs(&RunFilter {
            since,
            limit: Some(count),
            ..RunFilter::default()
        })?;
        for info in infos.iter().skip(read) {
            list.add(shown(info)?);
        }
        let is_complete = infos.len() < count;
        if is_complete || list.after(filter.before.as_deref()).len() > limit {
            let rows = list.after(filter.before.as_deref());
            let next = rows.get(limit).and(rows.get(limit - 1));
            return Ok(Runs {
                next: next.map(|row| row.id.to_string()),
                runs: rows.iter().take(limit).cloned().collect(),
            });
        }
        read = infos.len();
        count *= 4;
    }
}

/// The rows of a response, and those before them. Each run has one row, even if runs that begin meanwhile move the others.
#[derive(Default)]
struct RowList {
    rows: Vec<Arc<RunRow>>,
    ids: HashSet<RunId>,
}

impl RowList {
    fn add(&mut self, row: Option<Arc<RunRow>>) {
        if let Some(row) = row
            && self.ids.insert(row.id.clone())
        {
            self.rows.push(row);
        }
    }

    /// The rows after the run `last`; all without it.
    fn after(&self, last: Option<&str>) -> &[Arc<RunRow>] {
        let Some(last) = last else {
            return &self.rows;
        };
        let mut positions = (1..).zip(&self.rows);
        let found = positions.find(|(_, row)| row.id.as_str() == last);
        let start = found.map_or(self.rows.len(), |(position, _)| position);
        self.rows.get(start..).unwrap_or_default()
    }
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

/// Returns a parameter unless it is empty, because forms send empty ones for absent values.
fn filled_in(text: Option<&String>) -> Option<String> {
    text.cloned().filter(|text| !text.trim().is_empty())
}

/// Returns the start of a phrase of time, and its end, which is excluded.
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
