//! The runs that pages show. A run is followed once for all of its pages: its entries are read once, and each update is serialized once.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use indexmap::IndexMap;
use planwright::engine::RunId;
use planwright::engine::journal::{Entry, Record};
use planwright::service::{StepPhase, StepStates};
use planwright::store::{EntryWatcher, RunInfo};
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::api::StepStateEntry;
use crate::board::{Question, RunRow, Snapshot};
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::RunOwner;

/// The minimum time between two updates of a run. A plan of quick steps stores entries all the time, and an update for each batch would
/// slow the run down without a visible effect.
const UPDATE_INTERVAL: Duration = Duration::from_millis(40);

/// Maximum number of updates that a page may be behind. A page that is further behind reconnects, and continues at its last update.
const MAX_BEHIND: usize = 256;

/// The runs that are followed.
#[derive(Debug, Default)]
pub(crate) struct RunFeeds(tokio::sync::Mutex<HashMap<RunId, Weak<RunFeed>>>);

/// A run that is followed for as long as a page shows it.
#[derive(Debug)]
pub(crate) struct RunFeed {
    followed: Arc<Mutex<FollowedRun>>,
    task: JoinHandle<()>,
}

/// A change of a run, as it is sent to its pages.
#[derive(Debug)]
pub(crate) struct RunUpdate {
    /// The number of journal entries that it contains.
    pub(crate) seq: usize,
    pub(crate) owner: RunOwner,
    /// The event, as JSON.
    pub(crate) data: String,
}

/// The events of updates.
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

/// The state of a run that is followed.
#[derive(Debug)]
struct FollowedRun {
    states: StepStates,
    /// The number of the entry that changed a step last, by address.
    changed: HashMap<String, usize>,
    /// The steps that have changed since the last update.
    recent: HashSet<String>,
    /// The last entry that may have changed the plan; 0 for none.
    grew_at: usize,
    has_grown: bool,
    /// True if a process has the run.
    is_driven: bool,
    row: Arc<RunRow>,
    questions: Vec<Arc<Question>>,
    /// The sender of changes; `None` once the run cannot be followed any more, so that its streams end.
    updates: Option<broadcast::Sender<Arc<RunUpdate>>>,
}

impl RunFeeds {
    /// Returns the feed of a run, and starts it if no other page shows the run.
    pub(crate) async fn open(
        &self,
        state: &Arc<PageState>,
        info: RunInfo,
    ) -> Result<Arc<RunFeed>, ApiError> {
        let mut feeds = self.0.lock().await;
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let known = feeds.get(&info.id).and_then(Weak::upgrade);
        if let Some(feed) = known.filter(|feed| !feed.task.is_finished()) {
            return Ok(feed);
        }
        let id = info.id.clone();
        let feed = Arc::new(RunFeed::begin(state, info).await?);
        feeds.insert(id, Arc::downgrade(&feed));
        Ok(feed)
    }
}

impl RunFeed {
    async fn begin(state: &Arc<PageState>, info: RunInfo) -> Result<Self, ApiError> {
        let id = info.id.clone();
        let read = Arc::clone(state);
        let (followed, entries) = blocking(move || FollowedRun::read(&read, &info)).await?;
        let followed = Arc::new(Mutex::new(followed));
        let (state, shared) = (Arc::clone(state), Arc::clone(&followed));
        let task = tokio::spawn(async move {
            let Err(error) = follow(&state, &id, &shared, entries).await;
            tracing::warn!(?error, run = %id, "the run cannot be followed");
            lock(&shared).updates = None;
        });
        Ok(Self { followed, task })
    }

    /// Returns the changes after the entry `after`, or all without one, and a receiver of later updates.
    pub(crate) fn subscribe(
        &self,
        after: Option<usize>,
    ) -> Result<(Arc<RunUpdate>, broadcast::Receiver<Arc<RunUpdate>>), ApiError> {
        let followed = lock(&self.followed);
        let updates = followed.updates.as_ref().ok_or_else(ApiError::behind)?;
        Ok((followed.since(after)?, updates.subscribe()))
    }
}

impl Drop for RunFeed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(followed: &Mutex<FollowedRun>) -> MutexGuard<'_, FollowedRun> {
    followed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows a run until it cannot be read any more.
async fn follow(
    state: &Arc<PageState>,
    id: &RunId,
    followed: &Mutex<FollowedRun>,
    mut entries: EntryWatcher,
) -> Result<Infallible, ApiError> {
    let mut snapshots = state.board.subscribe();
    loop {
        tokio::select! {
            new = entries.next() => {
                let new = new?;
                let mut followed = lock(followed);
                for entry in &new {
                    followed.apply(entry);
                }
            }
            changed = snapshots.changed() => {
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
                let snapshot = Arc::clone(&snapshots.borrow_and_update());
                if lock(followed).is_as_in(&snapshot) {
                    continue;
                }
            }
        }
        // The time starts here: entries that are stored while these are published wait no longer than others.
        let pause = tokio::time::sleep(UPDATE_INTERVAL);
        let (read, id) = (Arc::clone(state), id.clone());
        let (is_driven, row, questions) = blocking(move || {
            let info = read.settings.store.run(id.as_str())?;
            let (row, questions) = read.board.row(&info)?;
            Ok((info.holder.is_some(), row, questions))
        })
        .await?;
        lock(followed).publish(is_driven, row, questions)?;
        pause.await;
    }
}

impl FollowedRun {
    /// Reads the run so far. Blocks on the disk.
    fn read(state: &PageState, info: &RunInfo) -> Result<(Self, EntryWatcher), ApiError> {
        let (row, questions) = state.board.row(info)?;
        let mut entries = state.settings.store.entries(info.id.as_str())?;
        let mut followed = Self {
            states: StepStates::new(info.id.clone(), info.steps),
            changed: HashMap::new(),
            recent: HashSet::new(),
            grew_at: 0,
            has_grown: false,
            is_driven: info.holder.is_some(),
            row,
            questions,
            updates: Some(broadcast::Sender::new(MAX_BEHIND)),
        };
        for entry in entries.by_ref() {
            followed.apply(&entry?);
        }
        followed.recent.clear();
        followed.has_grown = false;
        Ok((followed, entries.watch()?))
    }

    fn apply(&mut self, entry: &Entry) {
        let is_first = self.states.entries() == 0;
        let mut changed = Vec::new();
        // The start or end of a process may change all steps.
        if matches!(entry.record, Record::Opened { .. } | Record::Ended { .. }) {
            changed.extend(self.states.addresses().map(str::to_owned));
        }
        changed.extend(self.states.entry(entry));
        let seq = self.states.entries();
        for address in changed {
            self.changed.insert(address.clone(), seq);
            self.recent.insert(address);
        }
        if entry.record.may_change_plan() && !is_first {
            self.grew_at = self.states.entries();
            self.has_grown = true;
        }
    }

    /// Returns true if the snapshot has no change of the run.
    fn is_as_in(&self, snapshot: &Snapshot) -> bool {
        let mut rows = snapshot.rows.iter();
        rows.find(|row| row.id == self.row.id)
            .is_none_or(|row| *row == self.row)
    }

    /// The steps whose state depends on whether a process has the run.
    fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.states.addresses().filter(|address| {
            matches!(
                self.states.step(address).phase,
                StepPhase::Running | StepPhase::Retrying
            )
        })
    }

    /// Sends the changes to all pages.
    fn publish(
        &mut self,
        is_driven: bool,
        row: Arc<RunRow>,
        questions: Vec<Arc<Question>>,
    ) -> Result<(), ApiError> {
        // Without a process, no step is in progress.
        if std::mem::replace(&mut self.is_driven, is_driven) != is_driven {
            let unfinished: Vec<String> = self.unfinished().map(str::to_owned).collect();
            self.recent.extend(unfinished);
        }
        let is_same = *row == *self.row && questions == self.questions;
        self.row = row;
        self.questions = questions;
        let recent = std::mem::take(&mut self.recent);
        let has_grown = std::mem::take(&mut self.has_grown);
        if is_same && recent.is_empty() && !has_grown {
            return Ok(());
        }
        let update = self.update(recent.iter().map(String::as_str), has_grown)?;
        if let Some(updates) = &self.updates {
            // The send fails if no page shows the run at this moment.
            let _receivers = updates.send(update);
        }
        Ok(())
    }

    /// The changes after the entry `after`, which a page knows.
    fn since(&self, after: Option<usize>) -> Result<Arc<RunUpdate>, ApiError> {
        let after = after.unwrap_or_default();
        let changed = self.changed.iter();
        let changed = changed.filter_map(|(at, seq)| (after < *seq).then_some(at.as_str()));
        let mut states: HashSet<&str> = changed.collect();
        // The page may have read the run before its process ended.
        if !self.is_driven {
            states.extend(self.unfinished());
        }
        self.update(states.into_iter(), after < self.grew_at)
    }

    fn update<'a>(
        &self,
        states: impl Iterator<Item = &'a str>,
        grew: bool,
    ) -> Result<Arc<RunUpdate>, ApiError> {
        let event = RunEvent {
            seq: self.states.entries(),
            run: Arc::clone(&self.row),
            states: StepStateEntry::all(&self.states, states, self.is_driven),
            questions: self.questions.clone(),
            grew,
        };
        let data = serde_json::to_string(&event).map_err(|error| ApiError::unwritable(&error))?;
        Ok(Arc::new(RunUpdate {
            seq: event.seq,
            owner: self.row.owner.clone(),
            data,
        }))
    }
}
