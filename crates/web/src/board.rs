//! The state of the stored runs: rows of the list, and the calls that wait for a decision. One task reads the store for all watchers.

mod known;
mod question;
mod row;
mod stored;

use std::cmp::Reverse;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright::engine::RunStatus;
use planwright::service::StepStates;
use planwright::store::{RunFilter, RunInfo, RunState, Store};
use planwright::stored::{StoredRun, StoredRunError};
use tokio::sync::watch;

use crate::error::{ApiError, blocking};
use crate::plans::PlanCache;
use crate::session::RunOwner;

pub(crate) use question::{Question, WholeArguments};
pub(crate) use row::RunRow;

use known::{KnownRun, KnownRuns};
use stored::StoredRuns;

/// The number of the newest runs that are followed. Those that wait or are in progress are followed as well.
const FOLLOWED: usize = 200;

/// The interval at which the runs are read although nothing was stored, because the process of a run may have died.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(2);

/// The pause after each read, so that watchers do not slow down a run that stores entries all the time.
const READ_PAUSE: Duration = Duration::from_millis(150);

/// The pause after an error of the store.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

/// A snapshot of the stored runs.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The followed runs, the newest first.
    pub(crate) rows: Vec<Arc<RunRow>>,
    /// The calls that wait for a decision, those of the oldest runs first.
    pub(crate) questions: Vec<Arc<Question>>,
}

/// The state of the stored runs.
#[derive(Debug)]
pub(crate) struct RunBoard {
    store: Store,
    plans: PlanCache,
    stored: StoredRuns,
    known: Mutex<KnownRuns>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

impl RunBoard {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            stored: StoredRuns::new(store.clone()),
            store,
            plans: PlanCache::default(),
            known: Mutex::default(),
            snapshots: watch::Sender::default(),
        }
    }

    /// The snapshots, beginning with the latest one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.subscribe()
    }

    /// The plans of the runs.
    pub(crate) fn plans(&self) -> &PlanCache {
        &self.plans
    }

    /// Returns a run with all entries that are stored now. Blocks on the disk.
    pub(crate) fn stored(&self, info: &RunInfo) -> Result<Arc<StoredRun>, StoredRunError> {
        self.stored.read(info)
    }

    /// Returns the states of the steps of the run that `stored` was read from.
    pub(crate) fn states(&self, info: &RunInfo, stored: &StoredRun) -> StepStates {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = known.states(info).cloned();
        drop(known);
        let cached = cached.filter(|states| states.entries() == stored.entries.len());
        cached.unwrap_or_else(|| {
            let mut states = StepStates::new(info.id.clone(), info.steps);
            for entry in &stored.entries {
                states.entry(entry);
            }
            states
        })
    }

    /// Follows the store.
    pub(crate) async fn watch(self: &Arc<Self>) -> Infallible {
        loop {
            if let Err(error) = self.follow().await {
                tracing::warn!(?error, "the store cannot be followed");
                tokio::time::sleep(ERROR_PAUSE).await;
            }
        }
    }

    async fn follow(self: &Arc<Self>) -> Result<(), ApiError> {
        let mut changes = self.store.watch_changes()?;
        loop {
            tokio::select! {
                changed = changes.next() => changed?,
                () = tokio::time::sleep(LIVENESS_INTERVAL) => {}
            }
            // Without watchers, nothing is read. The first read for a new watcher happens at once.
            if self.snapshots.receiver_count() == 0 {
                continue;
            }
            let board = Arc::clone(self);
            let snapshot = blocking(move || board.read_followed()).await?;
            self.snapshots.send_replace(Arc::new(snapshot));
            tokio::time::sleep(READ_PAUSE).await;
        }
    }

    /// Reads the runs that are followed. Blocks on the disk.
    pub(crate) fn read_followed(&self) -> Result<Snapshot, ApiError> {
        let mut infos = self.store.runs(&RunFilter {
            limit: Some(FOLLOWED),
            ..RunFilter::default()
        })?;
        for state in [RunState::Open, RunState::Ended(RunStatus::Waiting)] {
            let more = self.store.runs(&RunFilter {
                state: Some(state),
                ..RunFilter::default()
            })?;
            for info in more {
                if !infos.iter().any(|known| known.id == info.id) {
                    infos.push(info);
                }
            }
        }
        infos.sort_by_key(|info| Reverse(info.created));
        let mut rows = Vec::with_capacity(infos.len());
        let mut asked = Vec::new();
        for info in &infos {
            let (row, questions) = self.row(info)?;
            rows.push(row);
            asked.push(questions);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.follow(infos.iter().map(|info| &info.id));
        drop(known);
        let questions = asked.into_iter().rev().flatten();
        Ok(Snapshot {
            rows,
            questions: questions.collect(),
        })
    }

    /// Returns the row of a run, and its calls that wait for a decision. Blocks on the disk.
    pub(crate) fn row(
        &self,
        info: &RunInfo,
    ) -> Result<(Arc<RunRow>, Vec<Arc<Question>>), ApiError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let run = known.get(&self.store, info)?;
        run.update(&self.stored, &self.plans, info)?;
        Ok(run.row(info))
    }

    /// Returns the owner of a run. Blocks on the disk.
    pub(crate) fn owner_of(&self, info: &RunInfo) -> Result<RunOwner, ApiError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = known().owner(info) {
            return Ok(owner);
        }
        // The inbox and the streams need the lock, so it is not held while the store is read.
        let owner = KnownRun::read(&self.store, info)?.owner().clone();
        known().note_owner(info, &owner);
        Ok(owner)
    }
}
