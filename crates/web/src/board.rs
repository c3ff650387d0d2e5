//! The state of the stored runs: rows of the list, and the calls that wait for a decision. One task follows the store for all watchers.

mod question;
mod row;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright::engine::{RunId, RunStatus};
use planwright::format::RunV1;
use planwright::service::StepStates;
use planwright::store::{RunFilter, RunInfo, RunState, Store};
use tokio::sync::watch;

use crate::error::{ApiError, blocking};
use crate::plans::PlanCache;

pub(crate) use question::Question;
pub(crate) use row::RunRow;

/// The number of the newest runs that are followed. Those that wait or are in progress are followed as well.
const FOLLOWED: usize = 200;

/// The interval at which the runs are looked at although nothing was stored, since the process of one may have died.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(2);

/// The pause after a look, so that a run that stores entries all the time is not slowed down by those who watch it.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// The pause after an error of the store.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

/// A moment of the stored runs.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The followed runs, the newest first.
    pub(crate) rows: Vec<Arc<RunRow>>,
    /// The calls that wait for a decision, the runs that began first in front.
    pub(crate) questions: Vec<Arc<Question>>,
}

/// The state of the stored runs.
#[derive(Debug)]
pub(crate) struct RunBoard {
    store: Store,
    plans: PlanCache,
    known: Mutex<HashMap<RunId, KnownRun>>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

/// The data of a run that later looks need not read again.
#[derive(Debug)]
struct KnownRun {
    client: Option<Arc<str>>,
    /// The name of the plan; of an unnamed one, that of its file.
    plan: Option<String>,
    states: StepStates,
    info: Option<RunInfo>,
    questions: Vec<Arc<Question>>,
}

impl RunBoard {
    pub(crate) fn new(store: Store) -> Self {
        Self {
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
            // Without watchers, nothing is read. A new one begins with a look of its own.
            if self.snapshots.receiver_count() == 0 {
                continue;
            }
            let board = Arc::clone(self);
            let snapshot = blocking(move || board.look()).await?;
            self.snapshots.send_replace(Arc::new(snapshot));
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Reads the runs that are followed. It blocks on the disk.
    pub(crate) fn look(&self) -> Result<Snapshot, ApiError> {
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
        let questions = asked.into_iter().rev().flatten();
        Ok(Snapshot {
            rows,
            questions: questions.collect(),
        })
    }

    /// The row of a run, and the calls of it that wait for a decision. It blocks on the disk.
    pub(crate) fn row(
        &self,
        info: &RunInfo,
    ) -> Result<(Arc<RunRow>, Vec<Arc<Question>>), ApiError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match known.entry(info.id.clone()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(KnownRun::read(&self.store, info)?)
            }
        };
        run.update(&self.store, &self.plans, info)?;
        let waiting = run
            .questions
            .iter()
            .filter(|question| question.is_undecided());
        let row = RunRow::new(
            info,
            run.plan.as_deref(),
            run.client.as_deref(),
            waiting.count(),
        );
        Ok((Arc::new(row), run.questions.clone()))
    }

    /// The client that a run belongs to.
    pub(crate) fn client_of(&self, info: &RunInfo) -> Result<Option<Arc<str>>, ApiError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = known.get(&info.id) {
            return Ok(run.client.clone());
        }
        drop(known);
        Ok(KnownRun::read(&self.store, info)?.client)
    }
}

impl KnownRun {
    fn read(store: &Store, info: &RunInfo) -> Result<Self, ApiError> {
        let header = store.header(info.id.as_str())?;
        // A program that drives the store by itself stores headers of its own.
        let header = RunV1::from_value(&header).ok();
        let file = header.as_ref().and_then(|header| {
            let path = std::path::Path::new(&header.plan.source);
            Some(path.file_name()?.to_str()?.to_owned())
        });
        Ok(Self {
            client: header.and_then(|header| header.client).map(Arc::from),
            plan: info.plan.clone().or(file),
            states: StepStates::new(info.id.clone(), info.steps),
            info: None,
            questions: Vec::new(),
        })
    }

    /// Reads what has changed. Runs that have ended have no questions, unless they wait.
    fn update(&mut self, store: &Store, plans: &PlanCache, info: &RunInfo) -> Result<(), ApiError> {
        let may_ask = matches!(
            info.state,
            RunState::Open | RunState::Ended(RunStatus::Waiting)
        );
        if !may_ask {
            self.questions.clear();
            self.info = Some(info.clone());
            return Ok(());
        }
        if self.info.as_ref() != Some(info) {
            // An error ends this before `info` is set: the next look reads the rest, so that no call that waits is missing.
            for entry in store.entries_from(info.id.as_str(), self.states.entries())? {
                self.states.entry(&entry?);
            }
            let asked: Vec<&Arc<str>> = self.states.questions().values().collect();
            let shown: Vec<&Arc<str>> = self.questions.iter().map(|shown| &shown.digest).collect();
            let is_same = asked.len() == shown.len() && asked.iter().all(|one| shown.contains(one));
            if !is_same {
                let questions = if asked.is_empty() {
                    Vec::new()
                } else {
                    let names = (self.plan.as_deref(), self.client.clone());
                    Question::of_run(store, plans, info, names)?
                };
                self.questions = questions.into_iter().map(Arc::new).collect();
            }
            // After an error, the next look reads again.
            self.info = Some(info.clone());
        }
        if !self.questions.is_empty() {
            let decisions = store.decisions(info.id.as_str())?;
            for question in &mut self.questions {
                let decided = decisions.iter().rev();
                let decided = decided
                    .filter(|decision| *decision.digest == *question.digest)
                    .map(|decision| question::word(&decision.decision))
                    .next();
                if question.decision != decided {
                    Arc::make_mut(question).decision = decided;
                }
            }
        }
        Ok(())
    }
}
