//! Leased runs: at most one process drives a run, and the lease of a dead process ends. A leased run is the engine's `Journal`.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use planwright_core::{PlanDigest, Value};
use planwright_engine::journal::{Entry, Journal, JournalError, check_history};
use planwright_engine::{History, RunId};
use planwright_format::journal::{JOURNAL_FORMAT, value_json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch::{EntryBatch, RunTotals};
use super::info;
use super::requests::{self, CancelRequest};
use super::server_processes::{self, ProcessFile, ServerProcess};
use crate::database::{QueryError, RunLease, SqlSession, SqlStatement, SqlValue};
use crate::error::{FileProblem, LeaseHolder, StoreError};
use crate::store::{Store, blocking};
use crate::values::{self, to_i64, to_nanos, to_usize};
use crate::writer::{AppendRequest, JournalPosition, JournalProgress};

/// The pause before an unreachable database is queried again about a lease.
const CONFIRM_PAUSE: Duration = Duration::from_millis(100);

/// A run that this process has leased, as a journal for the engine. The lease ends once this is dropped and all appended entries are
/// written.
#[derive(Debug)]
pub struct LeasedRun {
    store: Store,
    // Before `progress`, which has the lease: the file must be removed while the run is leased.
    processes: Arc<ProcessFile>,
    progress: Arc<JournalProgress>,
    entries: i64,
    holder: LeaseHolder,
    /// The request to cancel that was stored before the run was leased, if the run has not ended since.
    earlier: Option<CancelRequest>,
    is_cancel_requested: bool,
}

/// A run to create.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// The id, with no `-` in front.
    pub id: RunId,
    /// The name of the plan.
    pub plan: Option<String>,
    /// The digest of the plan.
    pub digest: PlanDigest,
    /// The dialect that the plan is written in.
    pub dialect: Option<String>,
    /// The number of steps of the plan.
    pub steps: usize,
    /// The time of creation.
    pub created: SystemTime,
    /// Data for programs that resume or show the run. The store does not interpret it; the caller versions it.
    pub header: Value,
}

impl Store {
    /// Creates a run and leases it for `holder`. The run is durable with its first entries: without entries there is nothing to
    /// resume.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] if the id is in use, [`StoreError::BadName`] if it is invalid.
    pub fn create_run(&self, new: NewRun, holder: &LeaseHolder) -> Result<LeasedRun, StoreError> {
        // Before the id becomes a part of file names.
        values::check_name("id of a run", new.id.as_str())?;
        let id = new.id.clone();
        let insert = insert_statement(&new)?;
        let created = self.database().create(&id, holder, &insert)?;
        let (key, lease): (Option<i64>, Arc<dyn RunLease>) = match created {
            Some(created) => (Some(created.run), created.lease.into()),
            None => (None, self.database().lease(&id, holder)?.into()),
        };
        let processes = self.open_process_file(&id, &lease)?;
        let key = match key {
            Some(key) => key,
            // After leasing, so that no other process can lease the run between the two.
            None => self
                .writer()
                .change_unsynced(move |session| insert_run(session, &new.id, &insert))?,
        };
        let progress = JournalProgress::new(key, id, lease, JournalPosition::default());
        Ok(self.leased_run(progress, processes, holder))
    }

    /// Leases an existing run for `holder`, which resumes it. A request to cancel it that no process has carried out stays:
    /// the new holder [carries it out](LeasedRun::is_cancel_requested) or [overrules it](LeasedRun::overrule_cancel_request).
    ///
    /// # Errors
    ///
    /// [`StoreError::Leased`] if another process, or another part of this one, has leased it; those of [`Store::run`];
    /// [`StoreError::Format`] if a newer version has written it.
    pub fn lease_run(&self, selector: &str, holder: &LeaseHolder) -> Result<LeasedRun, StoreError> {
        let (earlier, id) = self.read(|session| {
            let (key, id) = info::find(session, selector)?;
            Ok((requests::cancel_request(session, key)?, id))
        })?;
        let lease: Arc<dyn RunLease> = self.database().lease(&id, holder)?.into();
        let processes = self.open_process_file(&id, &lease)?;
        // Read after leasing: before, another process could still append.
        let (key, state, is_open, is_requested) = self.read(|session| {
            let (key, _) = info::find(session, id.as_str())?;
            info::check_format(session, key, &id)?;
            let is_requested = requests::cancel_request(session, key)?.is_some();
            let is_open = info::is_open(session, key)?;
            let counts = info::count_entries(session, key)?;
            let state = JournalPosition {
                next: counts.entries,
                totals: RunTotals {
                    processes: 1,
                    done: to_i64(counts.done),
                    calls: to_i64(counts.calls),
                    ..RunTotals::default()
                },
                failure: None,
            };
            Ok((key, state, is_open, is_requested))
        })?;
        let progress = JournalProgress::new(key, id, lease, state);
        let mut leased = self.leased_run(progress, processes, holder);
        leased.earlier = earlier;
        if is_open {
            leased.is_cancel_requested = is_requested;
        } else {
            // The run has ended since the request, cancelled or not.
            leased.overrule_cancel_request()?;
        }
        Ok(leased)
    }

    fn leased_run(
        &self,
        progress: JournalProgress,
        processes: Arc<ProcessFile>,
        holder: &LeaseHolder,
    ) -> LeasedRun {
        let entries = progress.state().next;
        LeasedRun {
            store: self.clone(),
            processes,
            progress: Arc::new(progress),
            entries,
            holder: holder.clone(),
            earlier: None,
            is_cancel_requested: false,
        }
    }

    /// Returns the server processes that earlier processes of a run had started and not stopped.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if they cannot be read.
    pub fn earlier_server_processes(&self, id: &RunId) -> Result<Vec<ServerProcess>, StoreError> {
        server_processes::read_earlier(&self.database().processes_path(id))
            .map_err(|error| self.io_error(&error))
    }

    fn open_process_file(
        &self,
        id: &RunId,
        lease: &Arc<dyn RunLease>,
    ) -> Result<Arc<ProcessFile>, StoreError> {
        let path = self.database().processes_path(id);
        ProcessFile::open(path, Arc::clone(lease)).map_err(|error| self.io_error(&error))
    }

    pub(crate) fn io_error(&self, error: &io::Error) -> StoreError {
        StoreError::File {
            path: self.path().to_owned(),
            trouble: FileProblem::Failed(error.to_string()),
        }
    }
}

impl LeasedRun {
    /// Returns the id of the run.
    pub fn id(&self) -> &RunId {
        &self.progress.id
    }

    /// Returns the number of journal entries when this process leased the run. A history with fewer entries is outdated.
    pub fn entries(&self) -> usize {
        to_usize(self.entries)
    }

    /// Returns the process that has leased the run, which is this one, as requests to it name it.
    pub fn holder(&self) -> &LeaseHolder {
        &self.holder
    }

    /// Returns true if an earlier process was asked to cancel the run and did not: a process that resumes the run by itself has to
    /// cancel it, without a further call.
    pub fn is_cancel_requested(&self) -> bool {
        self.is_cancel_requested
    }

    /// Deletes the request to cancel that was stored before the run was leased: a person resumes the run in spite of it.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn overrule_cancel_request(&self) -> Result<(), StoreError> {
        let Some(earlier) = self.earlier else {
            return Ok(());
        };
        let run = self.progress.run;
        self.store
            .writer()
            .change_unsynced(move |session| earlier.delete(session, run))
    }

    /// Returns the store of the run.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the server processes that earlier processes of the run had started and not stopped. They may have ended.
    pub fn earlier_server_processes(&self) -> Vec<ServerProcess> {
        self.processes.earlier().clone()
    }

    /// Replaces the list of [earlier server processes](Self::earlier_server_processes) by those that are still running.
    pub fn set_server_processes(&self, running: Vec<ServerProcess>) {
        *self.processes.earlier() = running;
    }
}

/// Inserts a run, and returns its key.
pub(crate) fn insert(session: &dyn SqlSession, new: &NewRun) -> Result<i64, QueryError> {
    values::check_name("id of a run", new.id.as_str())?;
    insert_run(session, &new.id, &insert_statement(new)?)
}

fn insert_run(
    session: &dyn SqlSession,
    id: &RunId,
    insert: &SqlStatement<'_>,
) -> Result<i64, QueryError> {
    // SQLite needs the condition: without it, `ON CONFLICT` would be the condition of a join.
    let sql = format!(
        "{} WHERE true ON CONFLICT DO NOTHING RETURNING key",
        insert.sql
    );
    let key = session.row(&sql, &insert.params, |row| row.get(0))?;
    key.ok_or_else(|| {
        QueryError::Store(StoreError::Exists {
            what: "run",
            id: id.to_string(),
        })
    })
}

/// Returns the statement that inserts a run. The format belongs to each run, because an older program may open the same store and must not
/// append to a newer journal.
fn insert_statement(new: &NewRun) -> Result<SqlStatement<'static>, StoreError> {
    let header = value_json(&new.header).map_err(|reason| info::unreadable(&new.id, &reason))?;
    let text = |text: &str| SqlValue::Text(text.to_owned().into());
    let optional = |value: &Option<String>| value.as_deref().map_or(SqlValue::Null, text);
    Ok(SqlStatement::new(
        "INSERT INTO runs (id, format, plan, digest, dialect, created_ns, steps, header)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8",
        vec![
            text(new.id.as_str()),
            text(JOURNAL_FORMAT),
            optional(&new.plan),
            text(new.digest.as_str()),
            optional(&new.dialect),
            SqlValue::Integer(to_nanos(new.created)),
            SqlValue::Integer(to_i64(new.steps)),
            SqlValue::Text(header.into()),
        ],
    ))
}

impl Journal for LeasedRun {
    /// Fails for another run, or if the history differs from the journal in the store. Deletes the decisions that the history has
    /// consumed.
    fn open(&self, run: &RunId, history: Option<&History>) -> Result<(), JournalError> {
        let id = self.id();
        if run != id {
            let message = format!("the journal belongs to the run `{id}`, not to `{run}`");
            return Err(JournalError::new(message));
        }
        let stored = to_usize(self.progress.state().next);
        // A history that was read before another process appended would repeat the calls of that process.
        check_history(stored, history)?;
        match history {
            Some(history) => self
                .store
                .delete_used_decisions(id, history)
                .map_err(|error| JournalError::new(error.to_string())),
            None => Ok(()),
        }
    }

    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        let (done, result) = oneshot::channel();
        // Encoded here, so that the one thread that writes for all has little to do for each.
        let batch = EntryBatch::encode(&entries);
        self.store.writer().append(AppendRequest {
            progress: Arc::clone(&self.progress),
            batch,
            done,
        });
        result
            .unwrap_or_else(|_| Err(JournalError::new("the writer of the store has stopped")))
            .boxed()
    }

    fn is_exclusive(&self) -> bool {
        self.progress.lease().is_certain()
    }

    fn confirm_exclusive(&self) -> BoxFuture<'static, Result<(), JournalError>> {
        let (store, lease) = (self.store.clone(), Arc::clone(self.progress.lease()));
        let deadline = Instant::now() + store.database().write_timeout();
        async move {
            loop {
                let renewed = Arc::clone(&lease);
                match blocking(move || renewed.renew()).await {
                    Err(error) if error.is_transient() && Instant::now() < deadline => {
                        tokio::time::sleep(CONFIRM_PAUSE).await;
                    }
                    result => {
                        return result.map_err(|error| {
                            JournalError::new(error.at(store.path()).to_string())
                        });
                    }
                }
            }
        }
        .boxed()
    }
}
