//! The thread, and how others hand work to it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::group::{Append, Target, write};
use crate::error::{Fault, FileTrouble, StoreError};
use crate::file::StoreFile;

/// How much is written in one transaction at most, so that whoever waits does not wait for all who came later.
const LARGEST_GROUP: usize = 4096;

/// A change other than entries of a journal.
type Change = Box<dyn FnOnce(&mut Connection) + Send>;

enum Job {
    Append(Append),
    /// After all that was handed over before.
    Change(Change),
    /// Before it, for no entry has anything to do with it that was handed over before.
    Soon(Change),
}

/// The thread that writes. It ends when this is dropped, after everything that waits has been written.
pub(crate) struct Writer {
    path: PathBuf,
    file: Arc<StoreFile>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
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
            trouble: FileTrouble::Failed(error.to_string()),
        })?;
        Ok(Self {
            path,
            file,
            jobs: Some(sender),
            thread: Some(thread),
        })
    }

    /// Hands over entries. Their future is never done where the thread has died, but dropped.
    pub(crate) fn append(&self, append: Append) {
        self.send(Job::Append(append));
    }

    /// Makes a change, all of it or nothing, and waits until it is on the disk.
    pub(crate) fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.with_connection(move |connection| make(connection, change))
    }

    /// Makes a change, all of it or nothing, and waits until it outlives this process. The machine may forget it until something
    /// else has been waited for that came later; it is on the disk then as well, and before it. Entries that were handed over
    /// before may be written after it.
    pub(crate) fn change_soon<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(Job::Soon, move |connection| {
            connection.execute_batch("PRAGMA synchronous = NORMAL")?;
            let made = make(connection, change);
            // Whatever comes next is waited for, and no transaction is open that would keep it from being so.
            connection.execute_batch("PRAGMA synchronous = FULL")?;
            made
        })
    }

    /// Does something outside of any transaction, and waits until it is done.
    pub(crate) fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(Job::Change, work)
    }

    fn ask<T: Send + 'static>(
        &self,
        job: fn(Change) -> Job,
        work: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let file = Arc::clone(&self.file);
        self.send(job(Box::new(move |connection| {
            let in_place = file.check_in_place();
            let _ = sender.send(in_place.and_then(|()| work(connection)));
        })));
        match receiver.recv() {
            Ok(result) => result.map_err(|fault| fault.of(&self.path)),
            Err(_) => Err(StoreError::File {
                path: self.path.clone(),
                trouble: FileTrouble::Failed("its writer has stopped".to_owned()),
            }),
        }
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn make<T>(
    connection: &mut Connection,
    change: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let made = change(&transaction)?;
    transaction.commit()?;
    Ok(made)
}

/// Writes until nobody can hand over anything any more.
fn run(path: &Path, file: &StoreFile, mut connection: Connection, jobs: &Receiver<Job>) {
    let mut group = Vec::new();
    while let Ok(first) = jobs.recv() {
        for job in std::iter::once(first).chain(jobs.try_iter().take(LARGEST_GROUP)) {
            match job {
                Job::Append(append) => group.push(append),
                Job::Change(change) => {
                    write(
                        &Target {
                            path,
                            file,
                            connection: &connection,
                        },
                        &mut group,
                    );
                    change(&mut connection);
                }
                // It waits for no disk, and parts no entries from those that share their commit.
                Job::Soon(change) => change(&mut connection),
            }
        }
        write(
            &Target {
                path,
                file,
                connection: &connection,
            },
            &mut group,
        );
    }
}
