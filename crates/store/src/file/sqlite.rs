//! SQLite as the database of a store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright_engine::RunId;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, Row, params_from_iter};

use super::connect::{self, OpenedFile};
use super::inode::{StoreFile, writable_by_others};
use super::lease::{FileLease, LeaseOutcome, UNKNOWN};
use crate::database::{
    Database, DatabaseError, QueryCause, QueryError, RequestRate, RowReader, RunLease, SqlRow,
    SqlSession, SqlValue, StoreConnection, TransactionKind,
};
use crate::error::{FileProblem, LeaseHolder, StoreError};
use crate::values::to_i64;

/// The number of pages that one vacuum step frees, so that runs in progress do not wait for all of them.
const PAGES_PER_VACUUM: i64 = 512;

/// A store in one file.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    path: PathBuf,
    lock_folder: PathBuf,
    /// The connection that reads the commit counter; `None` until it is needed. Declared before `file`, so that it is closed first.
    counter: Mutex<Option<SqliteConnection>>,
    file: Arc<StoreFile>,
}

impl SqliteDatabase {
    /// Opens the file `path`, and creates or migrates it if necessary.
    pub(crate) fn open(path: &Path) -> Result<(Self, Box<dyn StoreConnection>), StoreError> {
        let OpenedFile {
            connection,
            file,
            lock_folder,
        } = connect::open(path)?;
        let database = Self {
            path: path.to_owned(),
            lock_folder,
            counter: Mutex::default(),
            file: Arc::clone(&file),
        };
        let connection = Box::new(SqliteConnection {
            connection,
            _file: file,
        });
        Ok((database, connection))
    }

    /// Returns the path of the lock file of a run.
    fn lease_path(&self, id: &RunId) -> PathBuf {
        self.lock_folder.join(format!("run-{id}.lock"))
    }

    fn open_connection(&self) -> Result<SqliteConnection, StoreError> {
        Ok(SqliteConnection {
            connection: connect::connect(self.file.path())?,
            _file: Arc::clone(&self.file),
        })
    }

    fn io_error(&self, error: &std::io::Error) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            trouble: FileProblem::Failed(error.to_string()),
        }
    }
}

impl Database for SqliteDatabase {
    fn location(&self) -> &Path {
        &self.path
    }

    fn writable_by_others(&self) -> Vec<PathBuf> {
        let file = self.file.path();
        writable_by_others(
            [Some(file), file.parent(), Some(&self.lock_folder)]
                .into_iter()
                .flatten(),
        )
    }

    fn connect(&self) -> Result<Box<dyn StoreConnection>, QueryError> {
        Ok(Box::new(self.open_connection()?))
    }

    fn check_in_place(&self) -> Result<(), QueryError> {
        self.file.check_in_place()
    }

    fn lease(&self, id: &RunId, holder: &LeaseHolder) -> Result<Box<dyn RunLease>, StoreError> {
        let taken = FileLease::take(&self.file, id, &self.lease_path(id), holder)
            .map_err(|error| self.io_error(&error))?;
        match taken {
            LeaseOutcome::Acquired(lease) => Ok(Box::new(lease)),
            LeaseOutcome::LeasedBy(other) => Err(StoreError::Leased {
                run: id.clone(),
                holder: other.unwrap_or(UNKNOWN),
            }),
        }
    }

    fn holders(
        &self,
        _session: &dyn SqlSession,
        ids: &[&RunId],
    ) -> Result<Vec<Option<LeaseHolder>>, QueryError> {
        let holders = ids
            .iter()
            .map(|id| FileLease::holder(&self.file, id, &self.lease_path(id)));
        let holders: std::io::Result<_> = holders.collect();
        holders.map_err(|error| self.io_error(&error).into())
    }

    /// SQLite notifies no other process of a commit, but it counts the commits of other connections in shared memory. Reading the
    /// counter takes microseconds.
    fn version(&self) -> Result<i64, QueryError> {
        let mut counter = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = match &mut *counter {
            Some(open) => open,
            none => none.insert(self.open_connection()?),
        };
        counter.pragma("data_version")
    }

    fn count_requests(
        &self,
        _client: &str,
        _count: u32,
        _rate: RequestRate,
    ) -> Result<Option<Duration>, QueryError> {
        Ok(None)
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn write_timeout(&self) -> Duration {
        // A local file is always reachable.
        Duration::ZERO
    }

    fn processes_path(&self, id: &RunId) -> PathBuf {
        self.lock_folder.join(format!("run-{id}.servers"))
    }
}

/// A connection to a file.
#[derive(Debug)]
struct SqliteConnection {
    connection: rusqlite::Connection,
    /// The last field, so that it is dropped after the connection: closing any other descriptor of the file would drop its locks.
    _file: Arc<StoreFile>,
}

impl SqlSession for SqliteConnection {
    fn execute(&self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, QueryError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.execute(params_from_iter(params))?)
    }

    fn execute_each(
        &self,
        sql: &str,
        rows: &mut dyn Iterator<Item = Vec<SqlValue<'_>>>,
    ) -> Result<(), QueryError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        for row in rows {
            statement.execute(params_from_iter(&row))?;
        }
        Ok(())
    }

    fn query(
        &self,
        sql: &str,
        params: &[SqlValue<'_>],
        read: &mut RowReader<'_>,
    ) -> Result<(), QueryError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            read(row)?;
        }
        Ok(())
    }

    fn ended_step(&self) -> &'static str {
        "CASE WHEN kind = 'settled' AND json_array_length(body, '$.at') = 1
             AND body ->> '$.at[0].item' IS NULL AND body ->> '$.at[0].round' IS NULL
             AND (body ->> '$.status' IN ('succeeded', 'skipped')
                 OR body ->> '$.status' = 'failed' AND (is_latest OR body ->> '$.handled' IS TRUE))
         THEN body ->> '$.at[0].step' END"
    }
}

impl StoreConnection for SqliteConnection {
    fn begin(&mut self, kind: TransactionKind) -> Result<(), QueryError> {
        let sql = match kind {
            // In WAL mode a read transaction sees one commit.
            TransactionKind::Read => "BEGIN DEFERRED",
            // Takes the write lock at once: a transaction that upgrades its lock later can fail halfway.
            TransactionKind::Write | TransactionKind::Append => "BEGIN IMMEDIATE",
        };
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), QueryError> {
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn roll_back(&mut self) {
        // SQLite rolls back by itself after some failures.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn set_synced(&mut self, is_synced: bool) -> Result<(), QueryError> {
        // It cannot be changed within a transaction; the caller has none open.
        let mode = if is_synced { "FULL" } else { "NORMAL" };
        Ok(self.connection.pragma_update(None, "synchronous", mode)?)
    }

    fn used_bytes(&self) -> Result<u64, QueryError> {
        let used = self
            .pragma("page_count")?
            .saturating_sub(self.free_pages()?);
        self.bytes(used)
    }

    fn free_bytes(&self) -> Result<u64, QueryError> {
        self.bytes(self.free_pages()?)
    }

    fn shrink(&mut self) -> Result<bool, QueryError> {
        let before = self.free_pages()?;
        if 0 < before {
            let sql = format!("PRAGMA incremental_vacuum({PAGES_PER_VACUUM})");
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            // Each step frees one page.
            while rows.next()?.is_some() {}
        }
        let left = self.free_pages()?;
        if 0 < left && left < before {
            return Ok(true);
        }
        // Only the checkpoint truncates the file. If a reader blocks it, a later commit of any process does it.
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(false)
    }

    fn limit_size(&mut self, bytes: u64) -> Result<(), QueryError> {
        let pages = to_i64(bytes) / self.pragma("page_size")?.max(1);
        let limit = |row: &Row<'_>| row.get::<_, i64>(0);
        self.connection
            .pragma_update_and_check(None, "max_page_count", pages, limit)?;
        Ok(())
    }
}

impl SqliteConnection {
    fn pragma(&self, name: &str) -> Result<i64, QueryError> {
        Ok(self
            .connection
            .pragma_query_value(None, name, |row| row.get(0))?)
    }

    fn free_pages(&self) -> Result<i64, QueryError> {
        self.pragma("freelist_count")
    }

    fn bytes(&self, pages: i64) -> Result<u64, QueryError> {
        let size = self.pragma("page_size")?;
        Ok(pages.unsigned_abs().saturating_mul(size.unsigned_abs()))
    }
}

impl rusqlite::ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl SqlRow for Row<'_> {
    fn value(&self, index: usize) -> Result<SqlValue<'_>, QueryError> {
        Ok(match self.get_ref(index)? {
            ValueRef::Null => SqlValue::Null,
            ValueRef::Integer(number) => SqlValue::Integer(number),
            ValueRef::Text(text) => {
                let text = str::from_utf8(text).map_err(|error| {
                    QueryError::of(FileProblem::Damaged(format!("a text is invalid: {error}")))
                })?;
                SqlValue::Text(text.into())
            }
            ValueRef::Blob(bytes) => SqlValue::Bytes(bytes.into()),
            ValueRef::Real(_) => {
                let reason = format!("the column {index} of a row is a fraction");
                return Err(QueryError::of(FileProblem::Damaged(reason)));
            }
        })
    }
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|error| error.extended_code);
        let cause = if code == Some(rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY) {
            QueryCause::Conflict
        } else {
            match error.sqlite_error_code() {
                Some(
                    ErrorCode::DiskFull
                    | ErrorCode::TooBig
                    | ErrorCode::OutOfMemory
                    | ErrorCode::ConstraintViolation,
                ) => QueryCause::Data,
                _ => QueryCause::Database,
            }
        };
        Self::Database(DatabaseError {
            problem: FileProblem::from(&error),
            cause,
        })
    }
}

impl From<&rusqlite::Error> for FileProblem {
    fn from(error: &rusqlite::Error) -> Self {
        let reason = match error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
            other => other.to_string(),
        };
        let code = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            // The shared memory of a connection is a file beside the database, which cannot grow.
            _ if code == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(reason),
            _ => Self::Failed(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Error;
    use rusqlite::ffi::{self, SQLITE_FULL, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE};

    use super::FileProblem;

    #[test]
    fn a_full_disk_is_named_by_each_of_its_errors() {
        let check = |code: i32, is_full: bool| {
            let error = Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(FileProblem::from(&error) == FileProblem::Full, is_full);
        };
        check(SQLITE_FULL, true);
        check(SQLITE_IOERR_SHMSIZE, true);
        check(SQLITE_IOERR_WRITE, false);
    }
}
