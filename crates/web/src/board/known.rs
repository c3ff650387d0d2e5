//! A cache of the data of runs: of all runs that are followed, and of those that were listed last.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use planwright::Value;
use planwright::core::PlanDigest;
use planwright::engine::{RunId, RunStatus};
use planwright::format::{RunClock, RunV1};
use planwright::service::StepStates;
use planwright::store::{FileProblem, RunInfo, RunState, Store, StoreError};
use planwright::stored::{StoredRun, StoredRunError};

use super::question::{self, Question};
use super::row::{KnownProgress, RunRow};
use super::stored::StoredRuns;
use crate::error::ApiError;
use crate::plans::PlanCache;
use crate::session::RunOwner;

/// The maximum number of cached runs, apart from followed ones.
const MAX_LISTED: usize = 2000;

/// The maximum number of cached owners. Of runs that a visitor may not see, only the owner is read.
const MAX_OWNERS: usize = 100_000;

/// The cached runs.
#[derive(Debug, Default)]
pub(super) struct KnownRuns {
    runs: HashMap<RunId, KnownRun>,
    owners: HashMap<RunId, (RunOrigin, RunOwner)>,
    /// Counts the uses of runs.
    uses: u64,
}

/// The cached data of a run.
#[derive(Debug)]
pub(super) struct KnownRun {
    owner: RunOwner,
    /// The name of the plan; of an unnamed one, that of its file.
    plan: Option<String>,
    states: StepStates,
    clock: RunClock,
    progress: KnownProgress,
    /// The state of the run when the other fields were read.
    info: Option<RunInfo>,
    questions: Vec<Arc<Question>>,
    /// The latest row, with the facts that it shows. An unchanged row keeps its address, so that pages compare addresses only.
    row: Option<(RunInfo, usize, Arc<RunRow>)>,
    origin: RunOrigin,
    /// The reason why the run cannot be read.
    problem: Option<String>,
    /// The number of the last use.
    used: u64,
    is_followed: bool,
}

/// The identity of a run, because another run may get the id of a deleted one.
#[derive(Debug, PartialEq)]
pub(super) struct RunOrigin {
    created: SystemTime,
    imported: Option<usize>,
    digest: PlanDigest,
}

impl RunOrigin {
    pub(super) fn of(info: &RunInfo) -> Self {
        Self {
            created: info.created,
            imported: info.imported,
            digest: info.digest.clone(),
        }
    }
}

impl KnownRuns {
    /// Returns the data of a run, and reads it if it is not cached.
    ///
    /// # Errors
    ///
    /// The store cannot be read. A run that cannot be read is not an error.
    pub(super) fn get(&mut self, store: &Store, info: &RunInfo) -> Result<&mut KnownRun, ApiError> {
        self.uses += 1;
        let is_known = self
            .runs
            .get(&info.id)
            .is_some_and(|known| known.is_of(info));
        if !is_known {
            let run = KnownRun::read(store, info)?;
            self.runs.insert(info.id.clone(), run);
            self.trim();
        }
        let used = self.uses;
        let run = self.runs.get_mut(&info.id);
        let run = run.ok_or_else(|| ApiError::missing("run", info.id.as_str()))?;
        run.used = used;
        Ok(run)
    }

    /// Returns the states of the steps of a run, if they are cached.
    pub(super) fn states(&self, info: &RunInfo) -> Option<&StepStates> {
        let run = self.runs.get(&info.id)?;
        run.is_of(info).then_some(&run.states)
    }

    /// Returns the owner of a run, if it is cached.
    pub(super) fn owner(&self, info: &RunInfo) -> Option<RunOwner> {
        let (origin, owner) = self.owners.get(&info.id)?;
        (*origin == RunOrigin::of(info)).then(|| owner.clone())
    }

    /// Notes the owner of a run.
    pub(super) fn note_owner(&mut self, info: &RunInfo, owner: &RunOwner) {
        if self.owners.len() >= MAX_OWNERS {
            self.owners.clear();
        }
        let owner = (RunOrigin::of(info), owner.clone());
        self.owners.insert(info.id.clone(), owner);
    }

    /// Sets the runs whose data stays cached because they are followed.
    pub(super) fn follow<'a>(&mut self, followed: impl Iterator<Item = &'a RunId>) {
        let followed: HashSet<&RunId> = followed.collect();
        for (id, run) in &mut self.runs {
            run.is_followed = followed.contains(id);
        }
        self.trim();
    }

    /// Removes the runs that were used longest ago, if there are too many.
    fn trim(&mut self) {
        let listed = self.runs.values().filter(|run| !run.is_followed);
        let mut used: Vec<u64> = listed.map(|run| run.used).collect();
        if used.len() <= MAX_LISTED {
            return;
        }
        used.sort_unstable();
        // Half of them are removed, so that the next ones have room.
        let first = used.get(used.len() - MAX_LISTED / 2).copied();
        let (first, latest) = (first.unwrap_or_default(), self.uses);
        self.runs.retain(|_, run| {
            // A run that was just read has no use yet.
            run.is_followed || run.used == 0 || (first..=latest).contains(&run.used)
        });
    }
}

impl KnownRun {
    /// Reads the header of a run.
    ///
    /// # Errors
    ///
    /// Those of [`KnownRuns::get`].
    pub(super) fn read(store: &Store, info: &RunInfo) -> Result<Self, ApiError> {
        let (header, problem) = match store.header(info.id.as_str()) {
            Ok(header) => (header, None),
            Err(error) => (Value::Null, Some(problem(info, error.into())?)),
        };
        // A program that uses the store directly writes other headers.
        let header = RunV1::from_value(&header).ok();
        let file = header.as_ref().and_then(|header| {
            let path = Path::new(&header.plan.source);
            Some(path.file_name()?.to_str()?.to_owned())
        });
        let client = header.and_then(|header| header.client);
        Ok(Self {
            // The owner in an imported file is only a claim of its author.
            owner: match client {
                _ if problem.is_some() => RunOwner::Unknown,
                _ if info.imported.is_some() => RunOwner::Imported,
                Some(client) => RunOwner::Client(client.into()),
                None => RunOwner::Local,
            },
            plan: info.plan.clone().or(file),
            states: StepStates::new(info.id.clone(), info.steps),
            clock: RunClock::new(info.created),
            progress: KnownProgress::default(),
            info: None,
            questions: Vec::new(),
            row: None,
            origin: RunOrigin::of(info),
            problem,
            used: 0,
            is_followed: false,
        })
    }

    /// Returns true if this is the data of the run `info`, and not of an earlier one with its id.
    fn is_of(&self, info: &RunInfo) -> bool {
        self.origin == RunOrigin::of(info)
    }

    pub(super) fn owner(&self) -> &RunOwner {
        &self.owner
    }

    /// Returns the row of the run, and its calls that wait for a decision.
    pub(super) fn row(&mut self, info: &RunInfo) -> (Arc<RunRow>, Vec<Arc<Question>>) {
        let questions = self.questions.iter();
        let waiting = questions.filter(|question| question.is_undecided()).count();
        let known = self.row.take();
        let known = known.filter(|(shown, count, _)| shown == info && *count == waiting);
        let row = known.map_or_else(
            || {
                let row = RunRow::new(
                    info,
                    self.plan.as_deref(),
                    &self.owner,
                    waiting,
                    &self.progress,
                );
                Arc::new(if self.problem.is_some() {
                    row.unreadable()
                } else {
                    row
                })
            },
            |(_, _, row)| row,
        );
        self.row = Some((info.clone(), waiting, Arc::clone(&row)));
        let is_readable = self.problem.is_none();
        (
            row,
            if is_readable {
                self.questions.clone()
            } else {
                Vec::new()
            },
        )
    }

    /// Reads the changes of the run. A run that has ended has no questions, unless it waits.
    ///
    /// # Errors
    ///
    /// The store cannot be read. A run that cannot be read is not an error: the other runs, also those of other clients, must not depend on it.
    pub(super) fn update(
        &mut self,
        stored: &StoredRuns,
        plans: &PlanCache,
        info: &RunInfo,
    ) -> Result<(), ApiError> {
        // Without a header, only the owner of the store may see the run.
        if self.owner == RunOwner::Unknown {
            return Ok(());
        }
        let problem = match self.read_changes(stored, plans, info) {
            Ok(()) => None,
            Err(error) if self.problem.as_ref() == Some(&error.to_string()) => return Ok(()),
            Err(error) => Some(problem(info, error)?),
        };
        if problem.is_some() != self.problem.is_some() {
            self.row = None;
        }
        self.problem = problem;
        Ok(())
    }

    fn read_changes(
        &mut self,
        stored: &StoredRuns,
        plans: &PlanCache,
        info: &RunInfo,
    ) -> Result<(), StoredRunError> {
        let store = stored.store();
        let may_ask = matches!(
            info.state,
            RunState::Open | RunState::Ended(RunStatus::Waiting)
        );
        if !may_ask {
            self.questions.clear();
            // A run that is resumed is read again.
            if self.states.entries() > 0 {
                self.states = StepStates::new(info.id.clone(), info.steps);
                self.clock = RunClock::new(info.created);
                self.progress = KnownProgress::default();
            }
            self.info = None;
            return Ok(());
        }
        // A question that is stored in the same millisecond as the previous entry does not change the facts of an open run.
        if info.state == RunState::Open || self.info.as_ref() != Some(info) {
            let mut is_other_plan = false;
            // An error ends this before `info` is set, so the next update reads the rest, and no waiting call is missing.
            // The questions and the page of the run read the whole journal as well.
            let whole = match self.states.entries() {
                0 => readable(stored.read(info))?,
                _ => None,
            };
            let mut since = self.progress.since;
            for entry in whole.iter().flat_map(|stored| &stored.entries) {
                self.states.entry(entry);
                since = self.clock.time(entry).checked_sub(entry.at);
            }
            for entry in store.entries_from(info.id.as_str(), self.states.entries())? {
                let entry = entry?;
                is_other_plan |= entry.record.may_change_plan();
                self.states.entry(&entry);
                since = self.clock.time(&entry).checked_sub(entry.at);
            }
            self.progress = KnownProgress::of(&self.states, since);
            let asked: Vec<&Arc<str>> = self.states.questions().values().collect();
            let shown: Vec<&Arc<str>> = self.questions.iter().map(|shown| &shown.digest).collect();
            let is_same = asked.len() == shown.len() && asked.iter().all(|one| shown.contains(one));
            // A waiting call may have the same arguments in another plan, whose approval as a whole has another digest.
            if !is_same || is_other_plan {
                let stored = match whole {
                    _ if asked.is_empty() => None,
                    Some(stored) => Some(stored),
                    None => readable(stored.read(info))?,
                };
                let names = (self.plan.as_deref(), &self.owner);
                let questions = match stored {
                    Some(stored) => Question::of_run(&stored, plans, (info, &self.states), names)?,
                    None => Vec::new(),
                };
                self.questions = questions.into_iter().map(Arc::new).collect();
            }
            // After an error, the next update reads again.
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

/// Returns a stored run, or `None` if a program wrote it that uses the store directly, with other headers, and decides about its calls itself.
fn readable(
    read: Result<Arc<StoredRun>, StoredRunError>,
) -> Result<Option<Arc<StoredRun>>, StoredRunError> {
    match read {
        Ok(stored) => Ok(Some(stored)),
        Err(StoredRunError::Unreadable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Logs the reason why a run cannot be read, and returns it.
///
/// # Errors
///
/// `error`, if it is about the store and not about one run.
fn problem(info: &RunInfo, error: StoredRunError) -> Result<String, ApiError> {
    if let StoredRunError::Store(StoreError::File { trouble, .. }) = &error
        && !matches!(trouble, FileProblem::Damaged(_))
    {
        return Err(error.into());
    }
    let run = &info.id;
    tracing::warn!(%run, %error, "a run cannot be read");
    Ok(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use planwright::store::{LeaseHolder, NewRun};

    use super::*;

    fn store(folder: &tempfile::TempDir) -> Store {
        Store::open(folder.path().join("runs.db")).unwrap()
    }

    /// Stores a run with another form of header.
    fn add(store: &Store, id: &str) -> RunInfo {
        let new = NewRun {
            id: id.parse().unwrap(),
            plan: None,
            digest: PlanDigest::from("0"),
            dialect: None,
            steps: 1,
            created: SystemTime::UNIX_EPOCH,
            header: planwright::Value::Null,
        };
        let holder = LeaseHolder::this_process("", SystemTime::UNIX_EPOCH);
        drop(store.create_run(new, &holder).unwrap());
        store.run(id).unwrap()
    }

    #[test]
    fn listed_runs_are_forgotten_and_followed_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let mut known = KnownRuns::default();
        let info = add(&store, "first");
        known.get(&store, &info).unwrap();
        known.follow([&info.id].into_iter());
        for number in 0..2 * MAX_LISTED {
            // The data of a run is read by its id, so the others need not be stored.
            let id: RunId = format!("run-{number}").parse().unwrap();
            let other = KnownRun {
                used: known.uses,
                ..KnownRun::read(&store, &info).unwrap()
            };
            known.uses += 1;
            known.runs.insert(id, other);
            known.trim();
            assert!(known.runs.len() <= MAX_LISTED + 1);
        }
        assert!(known.runs.contains_key(&info.id));
    }

    #[test]
    fn another_run_with_the_id_of_one_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let mut known = KnownRuns::default();
        let info = add(&store, "r");
        assert_eq!(*known.get(&store, &info).unwrap().owner(), RunOwner::Local);
        let imported = RunInfo {
            imported: Some(1),
            ..info.clone()
        };
        let owner = known.get(&store, &imported).unwrap().owner();
        assert_eq!(*owner, RunOwner::Imported);
        let later = RunInfo {
            created: info.created + Duration::from_secs(1),
            ..info
        };
        assert_eq!(*known.get(&store, &later).unwrap().owner(), RunOwner::Local);
    }
}
