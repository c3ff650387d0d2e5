//! The store handle: one database, one writer, as many read connections as needed, and settings of the store as a whole.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use planwright_engine::approval::SealKey;

use crate::calls::CallQueue;
use crate::changes::{ChangeWatcher, PollerSlot};
use crate::database::{
    Database, QueryError, RequestRate, SqlSession, StoreConnection, TransactionKind,
    in_transaction, params,
};
use crate::error::StoreError;
use crate::file::SqliteDatabase;
use crate::learned::{LearnedQueue, RecentDurations};
use crate::writer::StoreWriter;

/// Maximum number of read connections. Further readers wait for one of them. All stay open: under load, a server would be busy with the
/// creation of sessions otherwise.
const MAX_READERS: usize = 8;

/// The setting with the seal key.
const SEAL_KEY: &str = "seal_key";

/// The setting with the hash of the passphrase.
const PASSPHRASE: &str = "passphrase";

/// A store of plans and runs. Clones share one store; once the last clone and the last run that was leased through it are
/// dropped, all writes are on the disk.
///
/// All methods block on the disk, except those of [`LeasedRun`](crate::LeasedRun) and [`DecisionWatcher`](crate::DecisionWatcher).
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    writer: StoreWriter,
    readers: Mutex<Readers>,
    /// Notified when a read connection is returned.
    returned: Condvar,
    changes: PollerSlot,
    requests: PollerSlot,
    learned: Arc<LearnedQueue>,
    durations: RecentDurations,
    calls: Arc<CallQueue>,
    /// The seal key, once it was read: it never changes.
    seal_key: OnceLock<SealKey>,
    database: Arc<dyn Database>,
}

/// The read connections.
#[derive(Debug, Default)]
struct Readers {
    idle: Vec<Box<dyn StoreConnection>>,
    /// The number of read connections in use.
    in_use: usize,
}

impl Store {
    /// Opens the store in the file `path`. Creates the file and its folders if they do not exist, readable by their owner only.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if the file cannot be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let (database, connection) = SqliteDatabase::open(path.as_ref())?;
        Self::with_database(Arc::new(database), connection)
    }

    /// Creates a store in `database`, which has the tables of the store; `connection` writes.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if the system has no thread for the writer.
    pub fn with_database(
        database: Arc<dyn Database>,
        connection: Box<dyn StoreConnection>,
    ) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(Inner {
            writer: StoreWriter::start(Arc::clone(&database), connection)?,
            readers: Mutex::default(),
            returned: Condvar::new(),
            changes: PollerSlot::default(),
            requests: PollerSlot::default(),
            learned: Arc::default(),
            durations: RecentDurations::default(),
            calls: Arc::default(),
            seal_key: OnceLock::new(),
            database,
        })))
    }

    /// Returns which of the file, its folder, and its lock folder are writable by users other than their owner. These users can
    /// change what is stored, including consent.
    pub fn writable_by_others(&self) -> Vec<PathBuf> {
        self.0.database.writable_by_others()
    }

    /// Returns the path of the file, as passed to [`Store::open`], or the location of another database.
    pub fn path(&self) -> &Path {
        self.0.database.location()
    }

    /// Returns true if processes of several machines use the store.
    pub fn is_shared(&self) -> bool {
        self.0.database.is_shared()
    }

    /// Counts requests of a client over all processes of a [shared](Self::is_shared) store. At the rate limit it counts none, and
    /// returns the time until they are allowed.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn count_requests(
        &self,
        client: &str,
        count: u32,
        rate: RequestRate,
    ) -> Result<Option<Duration>, StoreError> {
        let counted = self.0.database.count_requests(client, count, rate);
        counted.map_err(|error| error.at(self.path()))
    }

    /// Limits the file to about this many bytes, as long as this store is open. Writes beyond that fail as if the disk were full.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn limit_size(&self, bytes: u64) -> Result<(), StoreError> {
        self.writer()
            .with_connection(move |connection| connection.limit_size(bytes))
    }

    pub(crate) fn writer(&self) -> &StoreWriter {
        &self.0.writer
    }

    pub(crate) fn learned(&self) -> &Arc<LearnedQueue> {
        &self.0.learned
    }

    pub(crate) fn recent_durations(&self) -> &RecentDurations {
        &self.0.durations
    }

    pub(crate) fn calls(&self) -> &Arc<CallQueue> {
        &self.0.calls
    }

    pub(crate) fn database(&self) -> &Arc<dyn Database> {
        &self.0.database
    }

    /// Returns the bytes in use.
    pub(crate) fn used_bytes(&self) -> Result<u64, StoreError> {
        self.with_reader(|connection| connection.used_bytes())
            .map_err(|error| error.at(self.path()))
    }

    /// Watches for changes of the store. The first one is reported at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if the system has no thread for it.
    pub fn watch_changes(&self) -> Result<ChangeWatcher, StoreError> {
        let database = &self.0.database;
        self.0
            .changes
            .watch(database, |database| database.version())
    }

    /// Watches for requests to any run. The first one is reported at once, and other changes may be reported, too.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if the system has no thread for it.
    pub fn watch_requests(&self) -> Result<ChangeWatcher, StoreError> {
        let database = &self.0.database;
        let version = |database: &dyn Database| database.request_version();
        self.0.requests.watch(database, version)
    }

    /// Runs `work` on a thread for blocking work. It has to be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Those of `work`.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        let done = blocking(move || Ok(work(&store)?)).await;
        done.map_err(|error| error.at(self.path()))
    }

    /// Reads a consistent snapshot.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&dyn SqlSession) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.query(read).map_err(|error| error.at(self.path()))
    }

    /// Reads a consistent snapshot, as [`Store::read`] does. `read` must not read from the store by itself: it could wait for
    /// connections that wait for it.
    pub(crate) fn query<T>(
        &self,
        read: impl FnOnce(&dyn SqlSession) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        self.with_reader(|connection| in_transaction(connection, TransactionKind::Read, read))
    }

    fn with_reader<T>(
        &self,
        work: impl FnOnce(&mut dyn StoreConnection) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let mut place = ReaderPlace::wait_for(&self.0);
        let mut connection = match place.idle.take() {
            Some(idle) => idle,
            // Opened while no lock is taken: a server may take long to answer.
            None => self.0.database.connect()?,
        };
        let result = work(&mut *connection);
        // A connection with a failed query may be lost, so it is not reused.
        place.idle = result.is_ok().then_some(connection);
        result
    }
}

/// Runs `work` on a thread for blocking work. It has to be called in a tokio runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, QueryError> + Send + 'static,
) -> Result<T, QueryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(QueryError::failed("its thread has stopped")),
    }
}

/// The right to use one of the read connections, which ends when this is dropped.
struct ReaderPlace<'a> {
    store: &'a Inner,
    /// An idle connection; `None` if there is none to reuse.
    idle: Option<Box<dyn StoreConnection>>,
}

impl<'a> ReaderPlace<'a> {
    fn wait_for(store: &'a Inner) -> Self {
        let mut readers = store
            .returned
            .wait_while(store.readers(), |readers| MAX_READERS <= readers.in_use)
            .unwrap_or_else(PoisonError::into_inner);
        readers.in_use += 1;
        Self {
            store,
            idle: readers.idle.pop(),
        }
    }
}

impl Drop for ReaderPlace<'_> {
    fn drop(&mut self) {
        let mut readers = self.store.readers();
        readers.in_use -= 1;
        readers.idle.extend(self.idle.take());
        // A reader that wakes up needs the lock.
        drop(readers);
        self.store.returned.notify_one();
    }
}

impl Inner {
    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Returns the key that seals consent to calls with secrets: 32 random bytes, generated at the first use. Only the first call of
    /// this process reads the database.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn seal_key(&self) -> Result<SealKey, StoreError> {
        if let Some(key) = self.0.seal_key.get() {
            return Ok(key.clone());
        }
        // Two threads may read at once: the store has one key, so both find the same.
        let key = self.read_seal_key()?;
        Ok(self.0.seal_key.get_or_init(|| key).clone())
    }

    fn read_seal_key(&self) -> Result<SealKey, StoreError> {
        if let Some(key) = self.read(seal_key)? {
            return Ok(SealKey::new(key));
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            StoreError::Format(format!("the system has no random bytes: {error}"))
        })?;
        self.writer().change(move |session| {
            // If another process was first, its key is used.
            session.execute(
                "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![SEAL_KEY, bytes],
            )
        })?;
        let key = self.read(seal_key)?;
        key.map(SealKey::new)
            .ok_or_else(|| StoreError::Format("the seal key is missing".to_owned()))
    }

    /// Returns the hash of the passphrase that decisions require, as [`Store::set_passphrase`] stored it; `None` if none is set.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn passphrase(&self) -> Result<Option<String>, StoreError> {
        let hash: Option<Vec<u8>> = self.read(|session| {
            session.row(
                "SELECT value FROM settings WHERE name = ?1",
                params![PASSPHRASE],
                |row| row.get(0),
            )
        })?;
        let text = hash.map(String::from_utf8).transpose();
        text.map_err(|_| StoreError::Format("the hash of the passphrase is damaged".to_owned()))
    }

    /// Stores the hash of the passphrase that decisions require, or removes it.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn set_passphrase(&self, hash: Option<&str>) -> Result<(), StoreError> {
        let hash = hash.map(|hash| hash.as_bytes().to_vec());
        self.writer().change(move |session| {
            match hash {
                Some(hash) => session.execute(
                    "INSERT INTO settings (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    params![PASSPHRASE, hash.as_slice()],
                )?,
                None => {
                    session.execute("DELETE FROM settings WHERE name = ?1", params![PASSPHRASE])?
                }
            };
            Ok(())
        })
    }
}

fn seal_key(session: &dyn SqlSession) -> Result<Option<[u8; 32]>, QueryError> {
    let value: Option<Vec<u8>> = session.row(
        "SELECT value FROM settings WHERE name = ?1",
        params![SEAL_KEY],
        |row| row.get(0),
    )?;
    match value.map(<[u8; 32]>::try_from) {
        None => Ok(None),
        Some(Ok(key)) => Ok(Some(key)),
        Some(Err(_)) => Err(QueryError::Store(StoreError::Format(
            "the seal key is damaged".to_owned(),
        ))),
    }
}
