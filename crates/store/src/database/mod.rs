//! The interface between a store and its database: connections with transactions, leases of runs, and notice of changes.
//!
//! The tables and all statements are the store's own, whichever database executes them. See
//! [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#one-store-several-databases).

mod error;
mod session;

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_engine::RunId;

use crate::error::{LeaseHolder, StoreError};

pub use crate::file::create_own_folder;
pub use error::{DatabaseError, QueryCause, QueryError};
pub use session::{RowReader, SqlRow, SqlSession, SqlStatement, SqlValue};
pub(crate) use session::{ToSql, params};

/// A database that a store can use.
pub trait Database: Debug + Send + Sync {
    /// Returns the location of the store as the user gave it, for messages.
    fn location(&self) -> &Path;

    /// Returns the files and folders that belong to the store and that users other than their owner may write.
    fn writable_by_others(&self) -> Vec<PathBuf>;

    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if the database cannot be used.
    fn connect(&self) -> Result<Box<dyn StoreConnection>, QueryError>;

    /// Fails if a commit could be lost, because the database is no longer the one that was opened.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn check_in_place(&self) -> Result<(), QueryError>;

    /// Leases a run for `holder`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Leased`] if another process, or another part of this one, has leased it; [`StoreError::File`].
    fn lease(&self, id: &RunId, holder: &LeaseHolder) -> Result<Box<dyn RunLease>, StoreError>;

    /// Leases a run that is being created, and inserts its row, in one transaction; `None`, without a change, if leases are not rows of the
    /// database. `insert` is an `INSERT … SELECT` of one row without a condition, whose first parameter is the id of the run. Unlike
    /// [the lease](Self::lease) of a run that exists, both may be lost in a crash of the machine until the first entries of the run are
    /// stored.
    ///
    /// # Errors
    ///
    /// Those of [`lease`](Self::lease); [`StoreError::Exists`].
    fn create(
        &self,
        _id: &RunId,
        _holder: &LeaseHolder,
        _insert: &SqlStatement<'static>,
    ) -> Result<Option<NewLease>, StoreError> {
        Ok(None)
    }

    /// Returns the process that has leased each of the runs. `session` is in a transaction that reads.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn holders(
        &self,
        session: &dyn SqlSession,
        ids: &[&RunId],
    ) -> Result<Vec<Option<LeaseHolder>>, QueryError>;

    /// Returns a number that changes with each commit, by any process, that this process has noticed. It needs no connection.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn version(&self) -> Result<i64, QueryError>;

    /// Returns a number that changes, as [`version`](Self::version) does, with each commit that may contain a request to a run. It may
    /// leave out other commits.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn request_version(&self) -> Result<i64, QueryError> {
        self.version()
    }

    /// Returns true if processes of several machines use the database.
    fn is_shared(&self) -> bool;

    /// Counts `count` requests of a client, over all processes. At the rate limit it counts none, and returns the time until they are
    /// allowed. A database that is not [shared](Self::is_shared) counts nothing: its process does.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if the database cannot be reached.
    fn count_requests(
        &self,
        client: &str,
        count: u32,
        rate: RequestRate,
    ) -> Result<Option<Duration>, QueryError>;

    /// Returns the time after which a write fails if the database cannot be reached.
    fn write_timeout(&self) -> Duration;

    /// Returns the path of the file that lists the server processes of a run on this machine.
    fn processes_path(&self, id: &RunId) -> PathBuf;
}

/// A rate limit of requests: a burst of `burst`, and one more after each `gap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRate {
    /// The number of requests that may come at once.
    pub burst: u32,
    /// The time in which one more request becomes allowed.
    pub gap: Duration,
}

/// A lease of a run, which ends when this is dropped.
pub trait RunLease: Debug + Send + Sync {
    /// Fails if the lease has been lost. It is called within each transaction that appends to the journal of the run.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if another process may have leased the run.
    fn verify(&self, session: &dyn SqlSession) -> Result<(), QueryError>;

    /// Returns the query of [`verify`](Self::verify), which finds a row unless the lease has been lost; `None` if the lease is not a row of
    /// the database.
    fn query(&self) -> Option<SqlStatement<'_>> {
        None
    }

    /// Returns true if no other process can have leased the run at this moment. It does not query the database.
    fn is_certain(&self) -> bool;

    /// Queries the database, so that the lease is [certain](Self::is_certain) again.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if another process may have leased the run; a transient one if the database cannot be reached.
    fn renew(&self) -> Result<(), QueryError>;
}

/// A run that was created.
#[derive(Debug)]
pub struct NewLease {
    /// The key of its row.
    pub run: i64,
    /// The lease of the run.
    pub lease: Box<dyn RunLease>,
}

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKind {
    /// A consistent snapshot.
    Read,
    /// A change. No other change overlaps with it, so everything it reads stays true until it ends.
    Write,
    /// Additions to journals of runs that this process has leased.
    Append,
}

/// A connection, used by one thread at a time.
pub trait StoreConnection: SqlSession + Debug + Send {
    /// Begins a transaction. If it fails, none is open.
    ///
    /// # Errors
    ///
    /// [`QueryError`]; a transient one, without a wait, if the database cannot be reached.
    fn begin(&mut self, kind: TransactionKind) -> Result<(), QueryError>;

    /// Executes statements in one [`TransactionKind::Append`] and commits it, without a wait between them. Returns false, without a
    /// change, if that is no gain for the database or if it refuses them, as it does if a [required](SqlStatement::is_required) row is
    /// missing: a transaction that executes them one by one finds the reason.
    ///
    /// # Errors
    ///
    /// A transient [`QueryError`]. Then it is uncertain whether the transaction was committed.
    fn try_append(&mut self, _statements: &[SqlStatement<'_>]) -> Result<bool, QueryError> {
        Ok(false)
    }

    /// Commits the transaction: after that it survives a crash.
    ///
    /// # Errors
    ///
    /// [`QueryError`]. Then it is uncertain whether the transaction was committed.
    fn commit(&mut self) -> Result<(), QueryError>;

    /// Rolls the transaction back, if one is open.
    fn roll_back(&mut self);

    /// Determines whether later commits survive a crash of the machine, or only one of this process.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn set_synced(&mut self, is_synced: bool) -> Result<(), QueryError>;

    /// Returns the bytes that the store uses.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn used_bytes(&self) -> Result<u64, QueryError>;

    /// Returns the bytes within the store that are free for other data.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn free_bytes(&self) -> Result<u64, QueryError>;

    /// Returns some of the free bytes to the disk. Returns false once none are left.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn shrink(&mut self) -> Result<bool, QueryError>;

    /// Limits the store to about this many bytes while this connection is open.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    fn limit_size(&mut self, bytes: u64) -> Result<(), QueryError>;
}

/// Runs `work` in a transaction, which is rolled back if it fails.
pub(crate) fn in_transaction<T>(
    connection: &mut dyn StoreConnection,
    kind: TransactionKind,
    work: impl FnOnce(&dyn SqlSession) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    connection.begin(kind)?;
    finish_transaction(connection, work)
}

/// Runs `work` in the open transaction and commits it, or rolls it back if it fails.
pub(crate) fn finish_transaction<T>(
    connection: &mut dyn StoreConnection,
    work: impl FnOnce(&dyn SqlSession) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let result = work(&*connection);
    let result = match result {
        Ok(result) => connection.commit().map(|()| result),
        Err(error) => Err(error),
    };
    if result.is_err() {
        connection.roll_back();
    }
    result
}
