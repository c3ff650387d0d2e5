//! The writer thread and its queue.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::group_commit::{AppendRequest, WriteTarget, write};
use crate::error::{FileProblem, QueryError, StoreError};
use crate::file::StoreFile;

/// The maximum number of jobs in one transaction, so that a job does not wait for all that were queued later.
const MAX_GROUP_SIZE: usize = 4096;

/// A change other than an append to a journal.
type Change = Box<dyn FnOnce(&mut Connection) + Send>;

enum Job {
    Append(AppendRequest),
    /// A change that is made after all earlier jobs.
    Change(Change),
    /// A change that is made before queued appends, since it is independent of them.
    Unsynced(Change),
}

/// The handle of the writer thread. When it is dropped, the thread writes everything that is queued and ends.
pub(crate) struct StoreWriter {
    path: PathBuf,
    file: Arc<StoreFile>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreWriter {
    pub(crate) fn start(
        path: PathBuf,
        file: Arc<StoreFile>,
        connection: Connection,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let thread = {
            let (path, file) = (path.clone(), Arc::clone(&file));
            thread::Builder::new()
                .name("planwright-store".to_owned())
                .spawn(move || run(&path, &file, connection, &receiver))
        };
        let thread = thread.map_err(|error| StoreError::File {
            path: path.clone(),
            trouble: FileProblem::Failed(error.to_string()),
        })?;
        Ok(Self {
            path,
            file,
            jobs: Some(sender),
            thread: Some(thread),
        })
    }

    /// Queues entries. If the thread has died, the sender for their result is dropped.
    pub(crate) fn append(&self, append: AppendRequest) {
        self.send(Job::Append(append));
    }

    /// Makes a change in a transaction, and waits until it is on the disk.
    pub(crate) fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.with_connection(move |connection| in_transaction(connection, change))
    }

    /// Makes a change in a transaction, and waits until it survives a crash of this process. A crash of the machine may undo it
    /// until a later synced change, which reaches the disk after it. Entries that were queued before may be written after it.
    pub(crate) fn change_unsynced<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Unsynced, move |connection| {
            connection.execute_batch("PRAGMA synchronous = NORMAL")?;
            let result = in_transaction(connection, change);
            // `synchronous` cannot be changed within a transaction; here none is open.
            connection.execute_batch("PRAGMA synchronous = FULL")?;
            result
        })
    }

    /// Runs `work` outside of any transaction, and waits for its result.
    pub(crate) fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Change, work)
    }

    fn submit<T: Send + 'static>(
        &self,
        job: fn(Change) -> Job,
        work: impl FnOnce(&mut Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let file = Arc::clone(&self.file);
        self.send(job(Box::new(move |connection| {
            // Otherwise a change to a removed file would be lost silently.
            let in_place = file.check_in_place();
            let _ = sender.send(in_place.and_then(|()| work(connection)));
        })));
        match receiver.recv() {
            Ok(result) => result.map_err(|error| error.at(&self.path)),
            Err(_) => Err(StoreError::File {
                path: self.path.clone(),
                trouble: FileProblem::Failed("its writer has stopped".to_owned()),
            }),
        }
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // The thread ends when the queue is closed and empty.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for StoreWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn in_transaction<T>(
    connection: &mut Connection,
    change: impl FnOnce(&Connection) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let result = change(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

/// Writes until the queue is closed.
fn run(path: &Path, file: &StoreFile, mut connection: Connection, jobs: &Receiver<Job>) {
    let mut group = Vec::new();
    while let Ok(first) = jobs.recv() {
        // All jobs that were queued while the disk was busy share the next commit: waiting for the disk costs far more than the rows.
        for job in std::iter::once(first).chain(jobs.try_iter().take(MAX_GROUP_SIZE)) {
            match job {
                Job::Append(append) => group.push(append),
                Job::Change(change) => {
                    write(
                        &WriteTarget {
                            path,
                            file,
                            connection: &connection,
                        },
                        &mut group,
                    );
                    change(&mut connection);
                }
                // Without flushing the group: it waits for no disk, and the entries still share one commit.
                Job::Unsynced(change) => change(&mut connection),
            }
        }
        write(
            &WriteTarget {
                path,
                file,
                connection: &connection,
            },
            &mut group,
        );
    }
}
