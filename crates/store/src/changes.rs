//! Changes of a store as a whole, made by any process, and reads that follow them.

use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task;

use crate::database::{Database, QueryError};
use crate::error::StoreError;
use crate::store::Store;

/// The pause between two polls. A poll without changes reads one counter, and a page or terminal shows what is new at once.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The pause after the database could not be read.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// A change, or the reason why no more are reported.
type Change = Result<(), StoreError>;

/// A watcher for changes of a store as a whole, made by any process. All watchers of a store share one thread.
#[derive(Clone, Debug)]
pub struct ChangeWatcher {
    changes: watch::Receiver<Change>,
    _poller: Arc<Poller>,
}

impl Store {
    /// Watches for changes of the store. The first one is reported at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if the system has no thread for it.
    pub fn watch_changes(&self) -> Result<ChangeWatcher, StoreError> {
        let mut slot = self.poller().lock();
        let running = slot
            .upgrade()
            .filter(|poller| poller.changes.has_changed().is_ok());
        let poller = match running {
            Some(poller) => poller,
            None => {
                let poller = Arc::new(Poller::start(Arc::clone(self.database()))?);
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

    /// Lets the last change be reported once more.
    fn repeat(&mut self) {
        self.changes.mark_changed();
    }
}

/// The thread that polls for all, until the last watcher is dropped.
#[derive(Debug)]
struct Poller {
    changes: watch::Receiver<Change>,
    /// Ends the thread once it is dropped.
    watched: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    fn start(database: Arc<dyn Database>) -> Result<Self, StoreError> {
        let (sender, changes) = watch::channel(Ok(()));
        let (watched, unwatched) = mpsc::channel();
        let location = database.location().to_owned();
        let thread = thread::Builder::new()
            .name("planwright-changes".to_owned())
            .spawn(move || poll(&*database, &sender, &unwatched));
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
        // It ends at once. Then its connection is closed: a store that is dropped uses its file no longer.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn poll(database: &dyn Database, sender: &watch::Sender<Change>, unwatched: &Receiver<()>) {
    let mut last = None;
    loop {
        match database.version() {
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
    fn lock(&self) -> MutexGuard<'_, Weak<Poller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of what is new in a store since it was last asked.
pub(crate) trait NewsReader: Send + 'static {
    /// An item of news.
    type Item: Send + 'static;

    /// The pause after a read without news: a change of the store is most often one of another run.
    const PAUSE: Duration;

    /// Returns what is new, and an error if there may be more. A transient error means that it can be read later.
    fn read(&mut self) -> (Vec<Self::Item>, Option<QueryError>);
}

/// The reader after a read, what was new, and the error that ended it.
type ReadNews<R> = (R, Vec<<R as NewsReader>::Item>, Option<QueryError>);

/// A reader that reads after each change of its store, on threads for blocking work.
pub(crate) struct NewsWatcher<R: NewsReader> {
    changes: ChangeWatcher,
    store: Store,
    /// `None` while it reads.
    reader: Option<R>,
    /// The read in progress. It stays here if its caller stops waiting, so that nothing of it is lost.
    task: Option<task::JoinHandle<ReadNews<R>>>,
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
    pub(crate) fn new(store: &Store, reader: R) -> Result<Self, StoreError> {
        Ok(Self {
            changes: store.watch_changes()?,
            store: store.clone(),
            reader: Some(reader),
            task: None,
        })
    }

    /// Waits for news, and returns at least one item, in order. Cancel-safe. It has to be called in a tokio runtime with a clock.
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
                return Err(QueryError::failed("its reader has stopped").at(self.store.path()));
            };
            self.reader = Some(reader);
            match error {
                None if news.is_empty() => tokio::time::sleep(R::PAUSE).await,
                None => return Ok(news),
                // The database is away: news are found once it is back.
                Some(error) if error.is_transient() => {
                    self.changes.repeat();
                    if !news.is_empty() {
                        return Ok(news);
                    }
                    tokio::time::sleep(ERROR_PAUSE).await;
                }
                Some(error) => return Err(error.at(self.store.path())),
            }
        }
    }
}
