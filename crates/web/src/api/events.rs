//! `GET /api/events`: one stream for a page, with the list of runs, the calls that wait, and one run.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use indexmap::IndexMap;
use planwright::core::PlanConsent;
use planwright::engine::RunId;
use planwright::engine::journal::{Entry, Record};
use planwright::service::{StepPhase, StepStates};
use planwright::store::EntryWatcher;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use super::find;
use super::input::Parameters;
use super::states::StepStateEntry;
use crate::board::{Question, RunRow, Snapshot};
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

/// The minimum time between two events with entries of a run. A plan of quick steps stores entries all the time; an event for each batch would
/// cost the run more and show a person nothing more.
const EVENT_INTERVAL: Duration = Duration::from_millis(40);

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

/// A change of the run that the page shows.
#[derive(Serialize)]
struct RunEvent {
    seq: usize,
    run: Arc<RunRow>,
    /// The states that have changed, by address.
    states: IndexMap<String, StepStateEntry>,
    questions: Vec<Arc<Question>>,
    /// True if the plan may have changed, so that the page reads the run again.
    grew: bool,
}

pub(crate) async fn stream(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    Parameters(parameters): Parameters<EventParameters>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let permit = state.streams.enter(&visitor)?;
    // A browser that reconnects says how far it is.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last = last.and_then(|id| id.parse().ok());
    let after = last.or(parameters.after);
    let snapshots = state.board.subscribe();
    let watched = match parameters.run {
        None => None,
        Some(id) => {
            let (state, visitor) = (Arc::clone(&state), visitor.clone());
            Some(blocking(move || WatchedRun::open(&state, &visitor, &id, after)).await?)
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

/// A page that follows.
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
    id: RunId,
    entries: EntryWatcher,
    states: StepStates,
    /// The addresses that have changed since the last event.
    changed: HashSet<String>,
    grew: bool,
    is_new: bool,
    has_row_changed: bool,
    /// True if a process has the run, as the page knows it.
    is_driven: bool,
    /// The time of the last event about the run.
    sent_at: Option<Instant>,
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
            let snapshot = blocking(move || board.look()).await?;
            self.compare(&snapshot);
            return self.tell().await;
        }
        let Some(watched) = &mut self.watched else {
            if self.snapshots.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
            self.compare(&snapshot);
            return Ok(());
        };
        let earliest = watched.sent_at.map(|at| at + EVENT_INTERVAL);
        let entries = &mut watched.entries;
        let new = async {
            if let Some(earliest) = earliest {
                tokio::time::sleep_until(earliest).await;
            }
            entries.next().await
        };
        tokio::select! {
            entries = new => {
                for entry in entries? {
                    watched.apply(&entry);
                }
                self.tell().await
            }
            changed = self.snapshots.changed() => {
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
                let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
                self.compare(&snapshot);
                self.tell().await
            }
        }
    }

    /// Notes what has changed in the list of runs and among the calls that wait.
    fn compare(&mut self, snapshot: &Snapshot) {
        let rows = snapshot.rows.iter();
        let visible: Vec<&Arc<RunRow>> = rows
            .filter(|row| self.visitor.may_see(&row.owner))
            .collect();
        let mut changed = Vec::new();
        for row in visible {
            if self.rows.get(&row.id).is_none_or(|known| known != row) {
                self.rows.insert(row.id.clone(), Arc::clone(row));
                changed.push(Arc::clone(row));
            }
        }
        if let Some(watched) = &mut self.watched {
            watched.has_row_changed |= changed.iter().any(|row| row.id == watched.id);
        }
        if !changed.is_empty() {
            self.push("runs", &RunsEvent { changed }, None);
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
            self.push("inbox", &InboxEvent { questions }, None);
        }
    }

    /// Notes what has changed in the run that the page shows.
    async fn tell(&mut self) -> Result<(), ApiError> {
        let Some(watched) = &mut self.watched else {
            return Ok(());
        };
        if watched.changed.is_empty()
            && !watched.grew
            && !watched.has_row_changed
            && !watched.is_new
        {
            return Ok(());
        }
        watched.has_row_changed = false;
        watched.is_new = false;
        watched.sent_at = Some(Instant::now());
        let (state, visitor, id) = (
            Arc::clone(&self.state),
            self.visitor.clone(),
            watched.id.clone(),
        );
        let (info, (row, questions)) = blocking(move || {
            let info = find(&state, &visitor, id.as_str())?;
            let row = state.board.row(&info)?;
            Ok((info, row))
        })
        .await?;
        watched.note_holder(info.holder.is_some());
        let changed = std::mem::take(&mut watched.changed);
        let event = RunEvent {
            seq: watched.states.entries(),
            run: row,
            states: StepStateEntry::all(
                &watched.states,
                changed.iter().map(String::as_str),
                info.holder.is_some(),
            ),
            questions,
            grew: std::mem::take(&mut watched.grew),
        };
        let seq = event.seq.to_string();
        self.push("run", &event, Some(&seq));
        Ok(())
    }

    fn push(&mut self, name: &str, data: &impl Serialize, id: Option<&str>) {
        let event = Event::default().event(name);
        let event = match id {
            Some(id) => event.id(id),
            None => event,
        };
        match event.json_data(data) {
            // The last one is taken first, so they are put in front.
            Ok(event) => self.pending.insert(0, event),
            Err(error) => tracing::warn!(%error, "an event cannot be written"),
        }
    }
}

impl WatchedRun {
    /// Reads the run so far. Changes up to the entry `after` are known to the page.
    fn open(
        state: &PageState,
        visitor: &Visitor,
        id: &str,
        after: Option<usize>,
    ) -> Result<Self, ApiError> {
        let info = find(state, visitor, id)?;
        let mut entries = state.settings.store.entries(id)?;
        let present = entries.by_ref().collect::<Result<Vec<_>, _>>()?;
        let mut watched = Self {
            states: StepStates::new(info.id.clone(), info.steps),
            id: info.id,
            entries: entries.watch()?,
            changed: HashSet::new(),
            grew: false,
            is_new: true,
            has_row_changed: false,
            sent_at: None,
            is_driven: info.holder.is_some(),
        };
        for entry in present {
            watched.apply(&entry);
            if after.is_some_and(|after| watched.states.entries() <= after) {
                watched.changed.clear();
                watched.grew = false;
            }
        }
        // The page may have read the run before its process ended.
        if !watched.is_driven {
            watched.change_unfinished();
        }
        Ok(watched)
    }

    /// Notes whether a process has the run. Without one, no step is in progress.
    fn note_holder(&mut self, is_driven: bool) {
        if std::mem::replace(&mut self.is_driven, is_driven) != is_driven {
            self.change_unfinished();
        }
    }

    /// Marks the steps as changed whose state depends on whether a process has the run.
    fn change_unfinished(&mut self) {
        let unfinished = self.states.addresses().filter(|address| {
            matches!(
                self.states.step(address).phase,
                StepPhase::Running | StepPhase::Retrying
            )
        });
        let unfinished: Vec<String> = unfinished.map(str::to_owned).collect();
        self.changed.extend(unfinished);
    }

    fn apply(&mut self, entry: &Entry) {
        let is_first = self.states.entries() == 0;
        // A process that begins or ends may change all of them.
        let may_change_all = matches!(entry.record, Record::Opened { .. } | Record::Ended { .. });
        if may_change_all {
            let all = self.states.addresses().map(str::to_owned);
            self.changed.extend(all.collect::<Vec<_>>());
        }
        self.changed.extend(self.states.entry(entry));
        self.grew |= match &entry.record {
            Record::Opened { .. } => !is_first,
            Record::Extended { .. } => true,
            Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => false,
        };
    }
}
