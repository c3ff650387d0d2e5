//! Leases of runs: at most one process drives a run, and the lease of a dead process ends. A leased run is the engine's `Journal`.
//!
//! A lease consists of two locks of the operating system: one on a file in the lock folder, one on the inode of the database, which
//! holds even if that file is removed. Neither needs renewal or expiry: the system releases the locks of a process that dies.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#a-lease-is-a-file-lock).

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use planwright_engine::journal::{Entry, Journal, JournalError, check_history};
use planwright_engine::{History, RunId};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::entries::{EntryBatch, RunTotals};
use super::info::{self, NewRun};
use super::server_processes::{self, ProcessFile, ServerProcess};
use crate::error::{FileProblem, LeaseHolder, StoreError};
use crate::file::{InodeLease, StoreFile, create_folder, private_file};
use crate::store::Store;
use crate::values::{self, from_nanos, to_i64, to_nanos, to_usize};
use crate::writer::{AppendRequest, JournalPosition, JournalProgress};

/// The number of attempts before a lock counts as held: a reader that looks up the holder locks the file for a moment, too.
const MAX_ATTEMPTS: u32 = 8;
/// The number of attempts if the holder has not yet written its identity, which can take long on a busy machine.
const MAX_ATTEMPTS_UNNAMED: u32 = 500;
/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The content of a lock file.
#[derive(Serialize, Deserialize)]
struct HolderV1 {
    pid: u32,
    host: String,
    since_ns: i64,
}

/// A lease of a run. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
    path: PathBuf,
    inode: Option<InodeLease>,
}

/// The outcome of [`Lease::take`].
#[derive(Debug)]
enum LeaseOutcome {
    Acquired(Lease),
    /// Another process has the lease, and may not have written its identity.
    HeldBy(Option<LeaseHolder>),
}

impl Lease {
    /// Takes the lease of the run `id` in a store; `path` is its lock file.
    fn take(
        store: &Arc<StoreFile>,
        id: &RunId,
        path: &Path,
        holder: &LeaseHolder,
    ) -> io::Result<LeaseOutcome> {
        for tried in 1.. {
            let mut file = lock_file(path)?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, path) => {
                    // The lock file names the holder; the lock on the inode holds under every name of the store.
                    let mut lease = Self {
                        file,
                        path: path.to_owned(),
                        inode: store.lease(id.as_str())?,
                    };
                    if lease.inode.is_some() {
                        return write(&mut lease.file, holder)
                            .map(|()| LeaseOutcome::Acquired(lease));
                    }
                    drop(lease);
                    // The holder's lock file was removed, so its identity is unknown.
                    if MAX_ATTEMPTS <= tried {
                        return Ok(LeaseOutcome::HeldBy(None));
                    }
                    thread::sleep(RETRY_INTERVAL);
                }
                // The last holder has removed the file since it was opened: the next attempt opens another one.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    // A holder that has just got the lock may not have written its identity yet.
                    let holder = read(&mut file).filter(|_| MAX_ATTEMPTS <= tried);
                    if holder.is_some() || MAX_ATTEMPTS_UNNAMED <= tried {
                        return Ok(LeaseOutcome::HeldBy(holder));
                    }
                    thread::sleep(RETRY_INTERVAL);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        unreachable!("the loop has no end of its own")
    }

    /// Returns the holder of the lease of the run `id` in a store; `path` is its lock file.
    pub(crate) fn holder(
        store: &StoreFile,
        id: &RunId,
        path: &Path,
    ) -> io::Result<Option<LeaseHolder>> {
        let unnamed = || Ok(store.is_leased(id.as_str())?.then_some(UNKNOWN));
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return unnamed(),
            Err(error) => return Err(error),
        };
        // A shared lock, so that concurrent readers do not mistake each other for the holder.
        match file.try_lock_shared() {
            Ok(()) => unnamed(),
            Err(TryLockError::WouldBlock) => Ok(Some(read(&mut file).unwrap_or(UNKNOWN))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A holder of unknown identity.
const UNKNOWN: LeaseHolder = LeaseHolder {
    pid: 0,
    host: String::new(),
    since: SystemTime::UNIX_EPOCH,
};

impl Drop for Lease {
    fn drop(&mut self) {
        // The inode first: a process that gets the lock of the file expects that of the inode to be free.
        drop(self.inode.take());
        // Our file may have been removed, and the path may name the file of another holder.
        if !is_still_there(&self.file, &self.path) {
            return;
        }
        // The name goes before the lock: a process that waits for the lock then detects that its file has lost its name.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        } else {
            let _ = self.file.set_len(0);
        }
        let _ = self.file.unlock();
    }
}

/// A run that this process has leased, as a journal for the engine. The lease ends once this is dropped and all appended entries are
/// written.
#[derive(Debug)]
pub struct LeasedRun {
    store: Store,
    // Before `progress`, which has the lease: the file must be removed while the run is leased.
    processes: Arc<ProcessFile>,
    progress: Arc<JournalProgress>,
    entries: i64,
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
        values::check("id of a run", new.id.as_str())?;
        let id = new.id.clone();
        let lease = self.lease(&id, holder)?;
        let processes = self.processes(&id)?;
        // After leasing, so that no other process can lease the run between the two.
        let key = self
            .writer()
            .change_unsynced(move |connection| info::insert(connection, &new))?;
        Ok(self.leased_run(key, id, processes, lease, JournalPosition::default()))
    }

    /// Leases an existing run for `holder`, which resumes it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] if another process, or another part of this one, has leased it; those of [`Store::run`];
    /// [`StoreError::Format`] if a newer version has written it.
    pub fn hold(&self, selector: &str, holder: &LeaseHolder) -> Result<LeasedRun, StoreError> {
        let (_, id) = self.read(|connection| info::find(connection, selector))?;
        let lease = self.lease(&id, holder)?;
        let processes = self.processes(&id)?;
        // Read after leasing: before, another process could still append.
        let (key, state) = self.read(|connection| {
            let (key, _) = info::find(connection, id.as_str())?;
            info::check_format(connection, key, &id)?;
            let counts = info::count(connection, key)?;
            let state = JournalPosition {
                next: counts.entries,
                totals: RunTotals {
                    done: to_i64(counts.done),
                    calls: to_i64(counts.calls),
                    ..RunTotals::default()
                },
                failure: None,
            };
            Ok((key, state))
        })?;
        Ok(self.leased_run(key, id, processes, lease, state))
    }

    fn leased_run(
        &self,
        key: i64,
        id: RunId,
        processes: Arc<ProcessFile>,
        lease: Lease,
        state: JournalPosition,
    ) -> LeasedRun {
        LeasedRun {
            entries: state.next,
            store: self.clone(),
            processes,
            progress: Arc::new(JournalProgress::new(key, id, lease, state)),
        }
    }

    pub(crate) fn lease(&self, id: &RunId, holder: &LeaseHolder) -> Result<Lease, StoreError> {
        let taken = Lease::take(self.file(), id, &self.lease_path(id), holder)
            .map_err(|error| self.io(&error))?;
        match taken {
            LeaseOutcome::Acquired(lease) => Ok(lease),
            LeaseOutcome::HeldBy(other) => Err(StoreError::Held {
                run: id.clone(),
                holder: other.unwrap_or(UNKNOWN),
            }),
        }
    }

    /// Returns the server processes that earlier processes of a run had started and not stopped.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if they cannot be read.
    pub fn earlier_server_processes(&self, id: &RunId) -> Result<Vec<ServerProcess>, StoreError> {
        server_processes::earlier(&self.processes_path(id)).map_err(|error| self.io(&error))
    }

    fn processes(&self, id: &RunId) -> Result<Arc<ProcessFile>, StoreError> {
        ProcessFile::open(self.processes_path(id)).map_err(|error| self.io(&error))
    }

    pub(crate) fn io(&self, error: &io::Error) -> StoreError {
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
}

/// Opens the lock file at `path`. Creates it and its folder if they do not exist.
fn lock_file(path: &Path) -> io::Result<File> {
    match private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_folder(path.parent().unwrap_or(Path::new("")))?;
            private_file(path)
        }
        opened => opened,
    }
}

fn write(file: &mut File, holder: &LeaseHolder) -> io::Result<()> {
    let holder = HolderV1 {
        pid: holder.pid,
        host: holder.host.clone(),
        since_ns: to_nanos(holder.since),
    };
    let json = serde_json::to_string(&holder)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(json.as_bytes())
}

fn read(file: &mut File) -> Option<LeaseHolder> {
    let mut text = String::new();
    file.rewind().ok()?;
    // Bounded, since the file may have been replaced by any other.
    file.take(4096).read_to_string(&mut text).ok()?;
    let holder: HolderV1 = serde_json::from_str(&text).ok()?;
    Some(LeaseHolder {
        pid: holder.pid,
        host: holder.host,
        since: from_nanos(holder.since_ns),
    })
}

/// Returns true if `path` still names the file.
#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Returns true: on these systems lock files are never removed.
#[cfg(not(unix))]
fn is_still_there(_file: &File, _path: &Path) -> bool {
    true
}
