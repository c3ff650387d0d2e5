//! Changes of a store as a whole, made by any process, and reads that follow them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task;
use tokio::time::Instant;

use crate::database::{Database, QueryError};
use crate::error::StoreError;

/// The pause between two polls, short enough for a page or terminal. A poll without changes reads one counter only.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The pause after the database could not be read.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// The time without a database after which a warning says that its reader waits: longer than a short restart.
const SILENT_WAIT: Duration = Duration::from_secs(2);

/// A number of a database that changes with the commits that are watched.
pub(crate) type Version = fn(&dyn Database) -> Result<i64, QueryError>;

/// A change, or the reason why no more are reported.
type Change = Result<(), StoreError>;

/// A watcher for changes of a store as a whole, made by any process. All watchers of a store share one thread.
#[derive(Clone, Debug)]
pub struct ChangeWatcher {
    changes: watch::Receiver<Change>,
    _poller: Arc<Poller>,
}

impl ChangeWatcher {
    /// Waits for a change since the last one that was reported. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub async fn next(&mut self) -> Result<(), StoreError> {
        if self.changes.changed().await.is_err() {
            return Err(StoreError::Format(
                "the store is not watched any more".to_owned(),
            ));
        }
        self.changes.borrow_and_update().clone()
    }

    /// Lets [`next`](Self::next) report the last change again.
    fn repeat(&mut self) {
        self.changes.mark_changed();
    }
}

/// The thread that polls for all watchers. It ends when the last one is dropped.
#[derive(Debug)]
struct Poller {
    changes: watch::Receiver<Change>,
    /// Dropping it ends the thread.
    watched: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    fn start(database: Arc<dyn Database>, version: Version) -> Result<Self, StoreError> {
        let (sender, changes) = watch::channel(Ok(()));
        let (watched, unwatched) = mpsc::channel();
        let location = database.location().to_owned();
        // A watcher reads after this, so it learns of each later change.
        let last = version(&*database).ok();
        let thread = thread::Builder::new()
            .name("planwright-changes".to_owned())
            .spawn(move || poll(&*database, (version, last), &sender, &unwatched));
        let thread = thread.map_err(|error| QueryError::failed(error.to_string()).at(&location))?;
        Ok(Self {
            changes,
            watched: Some(watched),
            thread: Some(thread),
        })
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        drop(self.watched.take());
        // The thread ends at once and closes its connection, so that a dropped store does not use its file any more.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn poll(
    database: &dyn Database,
    (version, mut last): (Version, Option<i64>),
    sender: &watch::Sender<Change>,
    unwatched: &Receiver<()>,
) {
    loop {
        match version(database) {
            Ok(version) => {
                if last.replace(version) != Some(version) {
                    drop(sender.send_replace(Ok(())));
                }
            }
            Err(error) => {
                drop(sender.send_replace(Err(error.at(database.location()))));
                return;
            }
        }
        if unwatched.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// The thread of a store, if there is one.
#[derive(Debug, Default)]
pub(crate) struct PollerSlot(Mutex<Weak<Poller>>);

impl PollerSlot {
    /// Watches `version` of `database`, with the thread of the other watchers of this slot if there is one.
    pub(crate) fn watch(
        &self,
        database: &Arc<dyn Database>,
        version: Version,
    ) -> Result<ChangeWatcher, StoreError> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = slot
            .upgrade()
            .filter(|poller| poller.changes.has_changed().is_ok());
        let poller = match running {
            Some(poller) => poller,
            None => {
                let poller = Arc::new(Poller::start(Arc::clone(database), version)?);
                // Weak, so that the thread ends with the last watcher, and a store without watchers is never polled.
                *slot = Arc::downgrade(&poller);
                poller
            }
        };
        let mut changes = poller.changes.clone();
        // The caller has read nothing yet: a change before the watch must not be missed.
        changes.mark_changed();
        Ok(ChangeWatcher {
            changes,
            _poller: poller,
        })
    }
}

/// A reader of the items that are new in a store since its last read.
pub(crate) trait NewsReader: Send + 'static {
    /// An item.
    type Item: Send + 'static;

    /// The pause after a read without new items, because most changes of a store belong to other runs.
    const PAUSE: Duration;

    /// Returns the new items, and an error if there may be more. After a transient error, a later call can read them.
    fn read(&mut self) -> (Vec<Self::Item>, Option<QueryError>);
}

/// The result of a read: the reader, the new items, and the error that ended the read.
type ReadNews<R> = (R, Vec<<R as NewsReader>::Item>, Option<QueryError>);

/// A reader that reads after each change of its store, on threads for blocking work.
pub(crate) struct NewsWatcher<R: NewsReader> {
    changes: ChangeWatcher,
    /// The location of the store, for errors.
    location: PathBuf,
    /// `None` during a read.
    reader: Option<R>,
    /// The read in progress. It stays here if its caller stops waiting, so that no item is lost.
    task: Option<task::JoinHandle<ReadNews<R>>>,
    outage: Outage,
}

/// The time since which the database has not been reached.
#[derive(Debug, Default)]
struct Outage {
    since: Option<Instant>,
    is_reported: bool,
}

impl Outage {
    /// Counts a failed attempt. Returns true once, if the outage has become long.
    fn is_long_now(&mut self) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_long = !self.is_reported && since.elapsed() >= SILENT_WAIT;
        self.is_reported |= is_long;
        is_long
    }
}

impl<R: NewsReader> fmt::Debug for NewsWatcher<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads = self.task.is_some();
        f.debug_struct("NewsWatcher")
            .field("reads", &reads)
            .finish_non_exhaustive()
    }
}

impl<R: NewsReader> NewsWatcher<R> {
    /// Reads with `reader` after each of the `changes` of the store at `location`.
    pub(crate) fn new(changes: ChangeWatcher, location: &Path, reader: R) -> Self {
        Self {
            changes,
            location: location.to_owned(),
            reader: Some(reader),
            task: None,
            outage: Outage::default(),
        }
    }

    /// Waits for new items, and returns at least one, in order. Cancel-safe. It has to be called in a tokio runtime with a clock.
    pub(crate) async fn next(&mut self) -> Result<Vec<R::Item>, StoreError> {
        loop {
            if self.task.is_none() {
                self.changes.next().await?;
                if let Some(mut reader) = self.reader.take() {
                    self.task = Some(task::spawn_blocking(move || {
                        let (news, error) = reader.read();
                        (reader, news, error)
                    }));
                }
            }
            let read = match &mut self.task {
                Some(task) => task.await.ok(),
                None => None,
            };
            self.task = None;
            let Some((reader, news, error)) = read else {
                return Err(QueryError::failed("its reader has stopped").at(&self.location));
            };
            self.reader = Some(reader);
            if error.is_none() {
                self.outage = Outage::default();
            }
            match error {
                None if news.is_empty() => tokio::time::sleep(R::PAUSE).await,
                None => return Ok(news),
                // The database is unreachable: the items are read once it can be reached again.
                Some(error) if error.is_transient() => {
                    if self.outage.is_long_now() {
                        tracing::warn!("{}; waiting for the store", error.at(&self.location));
                    }
                    self.changes.repeat();
                    if !news.is_empty() {
                        return Ok(news);
                    }
                    tokio::time::sleep(ERROR_PAUSE).await;
                }
                Some(error) => return Err(error.at(&self.location)),
            }
        }
    }
}
