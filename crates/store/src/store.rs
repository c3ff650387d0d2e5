//! The store: one file, one writer, as many readers as are needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::error::{Fault, StoreError};
use crate::file::{self, Opened, StoreFile};
use crate::writer::Writer;

/// How many connections are kept for readers to come.
const SPARE_READERS: usize = 4;

/// Where plans and runs are remembered. Clones are the same store; when the last one and the last run that was held
/// through it are dropped, everything that was handed over is on the disk.
///
/// Everything but [`HeldRun`](crate::HeldRun) and [`Decisions`](crate::Decisions) waits for the disk where it is called.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    beside: PathBuf,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
    /// The last field: it is dropped when the connections are closed.
    file: Arc<StoreFile>,
}

impl Store {
    /// Opens the store in the file `path`, which is created where it is not there, with the folders that it lies in.
    /// Its owner alone can read what is created.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] where the file cannot be used, and why.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let Opened {
            connection,
            file,
            beside,
        } = file::open(path)?;
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            beside,
            writer: Writer::start(path.to_owned(), Arc::clone(&file), connection)?,
            readers: Mutex::default(),
            file,
        })))
    }

    /// The file, the folder that it lies in, and the folder with its locks, as far as others than their owner may write them:
    /// these others can change what is stored, consent included.
    pub fn writable_by_others(&self) -> Vec<PathBuf> {
        let file = self.0.file.path();
        file::writable_by_others(
            [Some(file), file.parent(), Some(&self.0.beside)]
                .into_iter()
                .flatten(),
        )
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Lets the file grow no larger than about this many bytes, as long as this store is open. What would not fit is
    /// refused as if the disk were full.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn limit_size(&self, bytes: u64) -> Result<(), StoreError> {
        self.writer().with_connection(move |connection| {
            let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
            let limit = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            connection.pragma_update_and_check(None, "max_page_count", pages, limit)?;
            Ok(())
        })
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.0.writer
    }

    /// The file whose lock is the lease of a run.
    pub(crate) fn lease_path(&self, id: &str) -> PathBuf {
        self.0.beside.join(format!("run-{id}.lock"))
    }

    /// The file of the processes of servers that the run's process has started.
    pub(crate) fn processes_path(&self, id: &str) -> PathBuf {
        self.0.beside.join(format!("run-{id}.servers"))
    }

    /// The file itself, whatever it is called.
    pub(crate) fn file(&self) -> &Arc<StoreFile> {
        &self.0.file
    }

    /// Reads, all of it as it is at one moment.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let mut connection = self.take_reader()?;
        let result = connection
            .transaction()
            .map_err(Fault::from)
            .and_then(|transaction| read(&transaction));
        self.put_reader(connection);
        result.map_err(|fault| fault.of(self.path()))
    }

    fn take_reader(&self) -> Result<Connection, StoreError> {
        let spare = self.readers().pop();
        spare.map_or_else(|| self.connect(), Ok)
    }

    fn put_reader(&self, connection: Connection) {
        let mut readers = self.readers();
        if readers.len() < SPARE_READERS {
            readers.push(connection);
        }
    }

    /// A connection of one's own.
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
