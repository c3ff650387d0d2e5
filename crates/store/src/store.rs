//! The store handle: one file, one writer, as many read connections as needed, and settings of the store as a whole.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use planwright_engine::RunId;
use planwright_engine::approval::SealKey;
use rusqlite::{Connection, OptionalExtension};

use super::values::to_i64;
use crate::changes::ChangesSlot;
use crate::error::{QueryError, StoreError};
use crate::file::{self, OpenedFile, StoreFile};
use crate::writer::StoreWriter;

/// The idle read connections that are kept open.
const MAX_IDLE_READERS: usize = 4;

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
    path: PathBuf,
    lock_folder: PathBuf,
    writer: StoreWriter,
    readers: Mutex<Vec<Connection>>,
    changes: ChangesSlot,
    /// The last field, so that it is dropped after the connections: closing any other descriptor of the file would drop their locks.
    file: Arc<StoreFile>,
}

impl Store {
    /// Opens the store in the file `path`. Creates the file and its folders if they do not exist, readable by their owner only.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] if the file cannot be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let OpenedFile {
            connection,
            file,
            lock_folder,
        } = file::open(path)?;
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            lock_folder,
            writer: StoreWriter::start(path.to_owned(), Arc::clone(&file), connection)?,
            readers: Mutex::default(),
            changes: ChangesSlot::default(),
            file,
        })))
    }

    /// Returns those of the file, its folder, and the folder with its locks that users other than their owner may write. These
    /// users can change what is stored, including consent.
    pub fn writable_by_others(&self) -> Vec<PathBuf> {
        let file = self.0.file.path();
        file::writable_by_others(
            [Some(file), file.parent(), Some(&self.0.lock_folder)]
                .into_iter()
                .flatten(),
        )
    }

    /// Returns the path of the file, as passed to [`Store::open`].
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Limits the file to about this many bytes, as long as this store is open. Writes beyond that fail as if the disk were full.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn limit_size(&self, bytes: u64) -> Result<(), StoreError> {
        self.writer().with_connection(move |connection| {
            let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = to_i64(bytes) / page.max(1);
            let limit = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            connection.pragma_update_and_check(None, "max_page_count", pages, limit)?;
            Ok(())
        })
    }

    pub(crate) fn writer(&self) -> &StoreWriter {
        &self.0.writer
    }

    /// Returns the path of the lock file of a run.
    pub(crate) fn lease_path(&self, id: &RunId) -> PathBuf {
        self.0.lock_folder.join(format!("run-{id}.lock"))
    }

    /// Returns the path of the list of server processes that the run's process has started.
    pub(crate) fn processes_path(&self, id: &RunId) -> PathBuf {
        self.0.lock_folder.join(format!("run-{id}.servers"))
    }

    /// Returns the place of the task that watches for changes.
    pub(crate) fn shared_changes(&self) -> &ChangesSlot {
        &self.0.changes
    }

    /// Returns the open file.
    pub(crate) fn file(&self) -> &Arc<StoreFile> {
        &self.0.file
    }

    /// Reads a consistent snapshot.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.take_reader()?;
        // In WAL mode a read transaction sees one commit, so that all queries of `read` agree with each other.
        let result = connection
            .transaction()
            .map_err(QueryError::from)
            .and_then(|transaction| read(&transaction));
        self.put_reader(connection);
        result.map_err(|error| error.at(self.path()))
    }

    fn take_reader(&self) -> Result<Connection, StoreError> {
        let spare = self.readers().pop();
        spare.map_or_else(|| self.connect(), Ok)
    }

    fn put_reader(&self, connection: Connection) {
        let mut readers = self.readers();
        if readers.len() < MAX_IDLE_READERS {
            readers.push(connection);
        }
    }

    /// Opens another connection.
    pub(crate) fn connect(&self) -> Result<Connection, StoreError> {
        file::connect(self.0.file.path())
    }

    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.0
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Returns the key that seals consent to calls with secrets: 32 random bytes, generated at the first use.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn seal_key(&self) -> Result<SealKey, StoreError> {
        if let Some(key) = self.read(seal_key)? {
            return Ok(SealKey::new(key));
        }
        self.writer().change(|connection| {
            // SQLite's generator is seeded by the system. If another process was first, its key is used.
            connection.execute(
                "INSERT INTO settings (name, value) VALUES (?1, randomblob(32)) ON CONFLICT DO NOTHING",
                [SEAL_KEY],
            )?;
            Ok(())
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
        self.read(|connection| {
            let hash = connection.query_row(
                "SELECT CAST(value AS TEXT) FROM settings WHERE name = ?1",
                [PASSPHRASE],
                |row| row.get(0),
            );
            Ok(hash.optional()?)
        })
    }

    /// Stores the hash of the passphrase that decisions require, or removes it.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn set_passphrase(&self, hash: Option<&str>) -> Result<(), StoreError> {
        let hash = hash.map(|hash| hash.as_bytes().to_vec());
        self.writer().change(move |connection| {
            match hash {
                Some(hash) => connection.execute(
                    "INSERT INTO settings (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (PASSPHRASE, hash),
                )?,
                None => connection.execute("DELETE FROM settings WHERE name = ?1", [PASSPHRASE])?,
            };
            Ok(())
        })
    }
}

fn seal_key(connection: &Connection) -> Result<Option<[u8; 32]>, QueryError> {
    let value: Option<Vec<u8>> = connection
        .query_row(
            "SELECT value FROM settings WHERE name = ?1",
            [SEAL_KEY],
            |row| row.get(0),
        )
        .optional()?;
    match value.map(<[u8; 32]>::try_from) {
        None => Ok(None),
        Some(Ok(key)) => Ok(Some(key)),
        Some(Err(_)) => Err(QueryError::Store(StoreError::Format(
            "the seal key is damaged".to_owned(),
        ))),
    }
}
