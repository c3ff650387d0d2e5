//! A run that this process has, and its journal.

use std::io;
use std::sync::Arc;

use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use planwright_engine::History;
use planwright_engine::journal::{Entry, Journal, JournalError, check_history};

use crate::error::{FileTrouble, StoreError};
use crate::format::{Tally, encode};
use crate::lease::{Holder, Lease, Taken, UNKNOWN};
use crate::names;
use crate::processes::{self, Record, ServerProcess};
use crate::run::{self, NewRun};
use crate::store::Store;
use crate::writer::{Append, Progress, State};

/// A run that this process alone has, and its journal. It is given back when this is dropped and everything that was
/// handed over has been written.
#[derive(Debug)]
pub struct HeldRun {
    store: Store,
    // Given back before the lease is.
    processes: Arc<Record>,
    progress: Arc<Progress>,
    entries: i64,
}

impl Store {
    /// Begins a run, which `holder` has from then on. It is on the disk with its first entries: before them there is nothing to
    /// go on with.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] where there is a run of this id, [`StoreError::BadName`] where the id is none.
    pub fn create_run(&self, new: NewRun, holder: &Holder) -> Result<HeldRun, StoreError> {
        names::check("id of a run", &new.id)?;
        let id = new.id.clone();
        let lease = self.lease(&id, holder)?;
        let processes = self.processes(&id)?;
        let key = self
            .writer()
            .change_soon(move |connection| run::insert(connection, &new))?;
        Ok(self.held(key, id, processes, lease, State::default()))
    }

    /// Takes a run that was begun earlier, for `holder` to go on with.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] where another process, or another part of this one, has it; those of [`Store::run`];
    /// [`StoreError::Format`] where a newer version has written it.
    pub fn hold(&self, selector: &str, holder: &Holder) -> Result<HeldRun, StoreError> {
        let (_, id) = self.read(|connection| run::find(connection, selector))?;
        let lease = self.lease(&id, holder)?;
        let processes = self.processes(&id)?;
        // Only now does it stay as it is.
        let (key, state) = self.read(|connection| {
            let (key, _) = run::find(connection, &id)?;
            run::check_format(connection, key, &id)?;
            let counts = run::count(connection, key)?;
            let size = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            let state = State {
                next: counts.entries,
                tally: Tally {
                    done: size(counts.done),
                    calls: size(counts.calls),
                    ..Tally::default()
                },
                failure: None,
            };
            Ok((key, state))
        })?;
        Ok(self.held(key, id, processes, lease, state))
    }

    fn held(
        &self,
        key: i64,
        id: String,
        processes: Arc<Record>,
        lease: Lease,
        state: State,
    ) -> HeldRun {
        HeldRun {
            entries: state.next,
            store: self.clone(),
            processes,
            progress: Arc::new(Progress::new(key, id, lease, state)),
        }
    }

    pub(crate) fn lease(&self, id: &str, holder: &Holder) -> Result<Lease, StoreError> {
        let taken = Lease::take(self.file(), id, &self.lease_path(id), holder)
            .map_err(|error| self.io(&error))?;
        match taken {
            Taken::Now(lease) => Ok(lease),
            Taken::Already(other) => Err(StoreError::Held {
                run: id.to_owned(),
                holder: other.unwrap_or(UNKNOWN),
            }),
        }
    }

    /// The processes of servers that earlier processes of a run had started when they died.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if they cannot be read.
    pub fn earlier_server_processes(&self, id: &str) -> Result<Vec<ServerProcess>, StoreError> {
        processes::earlier(&self.processes_path(id)).map_err(|error| self.io(&error))
    }

    fn processes(&self, id: &str) -> Result<Arc<Record>, StoreError> {
        Record::open(self.processes_path(id)).map_err(|error| self.io(&error))
    }

    pub(crate) fn io(&self, error: &io::Error) -> StoreError {
        StoreError::File {
            path: self.path().to_owned(),
            trouble: FileTrouble::Failed(error.to_string()),
        }
    }
}

impl HeldRun {
    /// The run's id.
    pub fn id(&self) -> &str {
        &self.progress.id
    }

    /// How many entries its journal had when this process took it. A reader that has seen fewer has read an earlier stand.
    pub fn entries(&self) -> usize {
        usize::try_from(self.entries).unwrap_or_default()
    }

    /// The store that it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The processes of servers that earlier processes of the run had started when they died. Whether they still run is
    /// not known here.
    pub fn earlier_server_processes(&self) -> Vec<ServerProcess> {
        self.processes.earlier().clone()
    }

    /// Says which of those still run: the others need not be remembered for whoever resumes the run next.
    pub fn keep_server_processes(&self, running: Vec<ServerProcess>) {
        *self.processes.earlier() = running;
    }
}

impl Journal for HeldRun {
    /// Refuses another run, and a history that is not what the store has of this one. Forgets the decisions that the history has
    /// taken in.
    fn open(&self, run: &str, history: Option<&History>) -> Result<(), JournalError> {
        let id = self.id();
        if run != id {
            let message = format!("the journal belongs to the run `{id}`, not to `{run}`");
            return Err(JournalError::new(message));
        }
        let held = usize::try_from(self.progress.state().next).unwrap_or(usize::MAX);
        check_history(held, history)?;
        match history {
            Some(history) => self
                .store
                .forget_used_decisions(id, history)
                .map_err(|error| JournalError::new(error.to_string())),
            None => Ok(()),
        }
    }

    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        let (done, result) = oneshot::channel();
        // Written down here, so that the one thread that writes for all has little to do for each.
        let batch = encode(&entries);
        self.store.writer().append(Append {
            progress: Arc::clone(&self.progress),
            batch,
            done,
        });
        result
            .unwrap_or_else(|_| Err(JournalError::new("the writer of the store has stopped")))
            .boxed()
    }
}
