//! `GET /api/events`: one stream for a page, with the list of runs, the calls that wait, and one run.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use planwright::core::PlanConsent;
use planwright::engine::RunId;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};

use super::find;
use super::input::Parameters;
use crate::board::{Question, RunRow, Snapshot};
use crate::error::{ApiError, blocking};
use crate::feeds::{RunFeed, RunUpdate};
use crate::page::PageState;
use crate::session::Visitor;

#[derive(Deserialize)]
pub(crate) struct EventParameters {
    /// The run that the page shows.
    run: Option<String>,
    /// The number of journal entries of the run that the page knows.
    after: Option<usize>,
}

/// A change of the list of runs.
#[derive(Serialize)]
struct RunsEvent {
    changed: Vec<Arc<RunRow>>,
}

/// A change of the calls that wait.
#[derive(Serialize)]
struct InboxEvent {
    questions: Vec<Arc<Question>>,
}

pub(crate) async fn stream(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    Parameters(parameters): Parameters<EventParameters>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let permit = state.streams.enter(&visitor)?;
    // A browser that reconnects states the last event that it received.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last = last.and_then(|id| id.parse().ok());
    let after = last.or(parameters.after);
    let snapshots = state.board.subscribe();
    let watched = match parameters.run {
        None => None,
        Some(id) => {
            let (known, visitor) = (Arc::clone(&state), visitor.clone());
            let info = blocking(move || find(&known, &visitor, &id)).await?;
            let feed = state.feeds.open(&state, info).await?;
            let (first, updates) = feed.subscribe(after)?;
            Some(WatchedRun {
                first: Some(first),
                updates,
                _feed: feed,
            })
        }
    };
    let follower = Follower {
        state,
        visitor,
        snapshots,
        watched,
        rows: HashMap::new(),
        digests: None,
        pending: Vec::new(),
        is_first: true,
        _permit: permit,
    };
    let events = unfold(follower, async |mut follower| {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The digests of a call that waits and of its plan as a whole, and its decision.
type ShownDigests = (Arc<str>, Option<PlanConsent>, Option<&'static str>);

/// A page that follows the events.
struct Follower {
    state: Arc<PageState>,
    visitor: Visitor,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    watched: Option<WatchedRun>,
    /// The rows that the page has.
    rows: HashMap<RunId, Arc<RunRow>>,
    /// The calls that the page has, with their decisions.
    digests: Option<Vec<ShownDigests>>,
    pending: Vec<Event>,
    is_first: bool,
    _permit: OwnedSemaphorePermit,
}

/// The run that the page shows.
struct WatchedRun {
    /// The changes that the page does not have when it begins to follow.
    first: Option<Arc<RunUpdate>>,
    updates: broadcast::Receiver<Arc<RunUpdate>>,
    _feed: Arc<RunFeed>,
}

impl Follower {
    /// The next event; `None` if the session or the server ends, or the store cannot be read any more, so that the page connects again.
    async fn next(&mut self) -> Option<Event> {
        let state = Arc::clone(&self.state);
        loop {
            if !state.sessions.is_open(&self.visitor) {
                return None;
            }
            if let Some(event) = self.pending.pop() {
                return Some(event);
            }
            tokio::select! {
                waited = self.wait() => if let Err(error) = waited {
                    tracing::warn!(?error, "a page cannot follow the store");
                    return None;
                },
                () = state.streams.closed() => return None,
            }
        }
    }

    async fn wait(&mut self) -> Result<(), ApiError> {
        if std::mem::take(&mut self.is_first) {
            let board = Arc::clone(&self.state.board);
            let snapshot = blocking(move || board.read_followed()).await?;
            self.compare(&snapshot);
            let first = self.watched.as_mut().and_then(|run| run.first.take());
            return first.map_or(Ok(()), |update| self.push_update(&update));
        }
        let update = async {
            match &mut self.watched {
                Some(run) => run.updates.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A page that is too far behind connects again.
            update = update => self.push_update(&*update.map_err(|_| ApiError::behind())?),
            changed = self.snapshots.changed() => {
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
                let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
                self.compare(&snapshot);
                Ok(())
            }
        }
    }

    /// Queues the changes of the list of runs and of the waiting calls.
    fn compare(&mut self, snapshot: &Snapshot) {
        let rows = snapshot.rows.iter();
        let visible: Vec<&Arc<RunRow>> = rows
            .filter(|row| self.visitor.may_see(&row.owner))
            .collect();
        let mut changed = Vec::new();
        for row in visible {
            let known = self.rows.get(&row.id);
            if known.is_none_or(|known| !Arc::ptr_eq(known, row) && known != row) {
                self.rows.insert(row.id.clone(), Arc::clone(row));
                changed.push(Arc::clone(row));
            }
        }
        if !changed.is_empty() {
            self.push("runs", &RunsEvent { changed });
        }
        let questions: Vec<Arc<Question>> = snapshot
            .questions
            .iter()
            .filter(|question| self.visitor.may_see(&question.owner))
            .cloned()
            .collect();
        let digests = questions
            .iter()
            .map(|question| {
                let plan = question.plan_digest.clone();
                (Arc::clone(&question.digest), plan, question.decision)
            })
            .collect();
        if self.digests.as_ref() != Some(&digests) {
            self.digests = Some(digests);
            self.push("inbox", &InboxEvent { questions });
        }
    }

    /// Queues the changes of the run that the page shows.
    fn push_update(&mut self, update: &RunUpdate) -> Result<(), ApiError> {
        if !self.visitor.may_see(&update.owner) {
            return Err(ApiError::behind());
        }
        let event = Event::default().event("run").id(update.seq.to_string());
        self.put(event.data(&update.data));
        Ok(())
    }

    fn push(&mut self, name: &str, data: &impl Serialize) {
        match Event::default().event(name).json_data(data) {
            Ok(event) => self.put(event),
            Err(error) => tracing::warn!(%error, "an event cannot be written"),
        }
    }

    fn put(&mut self, event: Event) {
        // The last event is taken first, so new ones are inserted in front.
        self.pending.insert(0, event);
    }
}
