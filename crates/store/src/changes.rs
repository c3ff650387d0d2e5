//! Changes of a store as a whole, made by any process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::database::Connection;
use crate::decisions::POLL_INTERVAL;
use crate::error::StoreError;
use crate::store::Store;

/// A watcher for changes of a store as a whole, made by any process.
#[derive(Debug)]
pub struct ChangeWatcher {
    connection: Box<dyn Connection>,
    path: PathBuf,
    /// The version of the database at the last poll.
    version: Option<i64>,
}

impl Store {
    /// Watches for changes of the store. The first one is reported at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn watch_changes(&self) -> Result<ChangeWatcher, StoreError> {
        Ok(ChangeWatcher {
            connection: self.database().connect()?,
            path: self.path().to_owned(),
            version: None,
        })
    }

    /// Watches for changes of the store, over one connection for all that watch in this process. The first change is reported at once. It has
    /// to be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn share_changes(&self) -> Result<StoreChanges, StoreError> {
        let mut shared = self.shared_changes().lock();
        let open = shared
            .upgrade()
            .filter(|open| open.changes.has_changed().is_ok());
        let open = match open {
            Some(open) => open,
            None => {
                let open = Arc::new(SharedChanges::new(self.watch_changes()?));
                *shared = Arc::downgrade(&open);
                open
            }
        };
        let mut changes = open.changes.clone();
        changes.mark_changed();
        Ok(StoreChanges {
            changes,
            _shared: open,
        })
    }
}

impl ChangeWatcher {
    /// Waits for a change since the last one that was reported. Cancel-safe. It needs the clock of a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub async fn next(&mut self) -> Result<(), StoreError> {
        loop {
            let version = self.connection.version();
            let version = version.map_err(|error| error.at(&self.path))?;
            if self.version.replace(version) != Some(version) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// A change, or the reason why no more are reported.
type Change = Result<(), StoreError>;

/// Changes of a store that all watchers of this process share.
#[derive(Debug)]
pub struct StoreChanges {
    changes: watch::Receiver<Change>,
    _shared: Arc<SharedChanges>,
}

impl StoreChanges {
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
}

/// The task that watches for all, until the last of them is dropped.
#[derive(Debug)]
struct SharedChanges {
    changes: watch::Receiver<Change>,
    task: AbortHandle,
}

impl SharedChanges {
    fn new(mut watcher: ChangeWatcher) -> Self {
        let (sender, changes) = watch::channel(Ok(()));
        let task = tokio::spawn(async move {
            loop {
                let change = watcher.next().await;
                let is_over = change.is_err();
                drop(sender.send_replace(change));
                if is_over {
                    return;
                }
            }
        });
        Self {
            changes,
            task: task.abort_handle(),
        }
    }
}

impl Drop for SharedChanges {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The task of a store, if there is one.
#[derive(Debug, Default)]
pub(crate) struct ChangesSlot(Mutex<Weak<SharedChanges>>);

impl ChangesSlot {
    fn lock(&self) -> std::sync::MutexGuard<'_, Weak<SharedChanges>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
