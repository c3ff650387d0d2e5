//! Storage of plans and runs in a PostgreSQL server, which several machines share.
//!
//! The tables are those of `planwright-store`, in a separate schema. See [the
//! design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#one-store-several-databases).
#![warn(missing_docs)]

/// The server: its address, its connections, and notice of commits.
mod server;

/// The encryption of connections.
mod tls;

/// A connection, which executes the statements of the store.
mod connection;

/// A connection that its own thread drives.
mod own_thread;

/// Statements that are executed as one.
mod combined;

/// Transactions as functions of a session.
mod session_functions;

/// Values of parameters and columns.
mod values;

/// Requests of several threads that share a transaction.
mod batches;

/// Leases of runs, which expire unless their process renews them.
mod lease;

/// The rates of clients, over all processes.
mod rates;

/// The tables, and the migrations to the newest ones.
mod tables;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use planwright_engine::RunId;
use planwright_store::database::{
    Database, NewLease, QueryError, RequestRate, RunLease, SqlSession, SqlStatement,
    StoreConnection, create_own_folder,
};
use planwright_store::{FileProblem, LeaseHolder, Store, StoreError};

use crate::connection::PostgresConnection;
use crate::lease::Leases;
use crate::rates::ClientRates;
use crate::server::PostgresServer;

/// The options of a store in a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The time after which a run of a process that is silent counts as interrupted. The process renews its leases four times as
    /// often. The time to connect, and the time after which a silent server counts as lost, are a quarter of it.
    pub lease_time: Duration,
    /// The time that a write waits for an unreachable server, over all of its attempts. The maximum time of one statement is the
    /// same, but at least a minute.
    pub write_timeout: Duration,
    /// The folder on this machine with the lists of server processes that runs have started. It is created, for this user alone.
    pub folder: PathBuf,
}

impl PostgresOptions {
    /// Returns leases of 10 seconds, and a write timeout of 5 minutes.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            lease_time: Duration::from_secs(10),
            write_timeout: Duration::from_mins(5),
            folder: folder.into(),
        }
    }
}

/// Opens the store at `url`, such as `postgres://user:password@host/database?sslmode=require`, and creates or migrates its tables
/// in the schema `planwright` if necessary.
///
/// # Errors
///
/// [`StoreError::File`] if the address is invalid, the server cannot be reached, a newer version has created the tables, or another
/// user can write to the folder.
pub fn open(url: &str, options: PostgresOptions) -> Result<Store, StoreError> {
    // Other users must not add processes to the lists, since this program would end them.
    create_own_folder(&options.folder).map_err(|error| StoreError::File {
        path: options.folder.clone(),
        trouble: FileProblem::Failed(error.to_string()),
    })?;
    let server = Arc::new(PostgresServer::open(url, &options)?);
    let location = server.location().to_owned();
    let of = |error: QueryError| error.at(&location);
    let connection = open_writer(&server).map_err(of)?;
    server.listen().map_err(of)?;
    let database = PostgresDatabase {
        leases: Leases::new(&server).map_err(of)?,
        rates: ClientRates::new(&server),
        server,
        folder: options.folder,
    };
    Store::with_database(Arc::new(database), Box::new(connection))
}

/// Opens the connection that writes, and creates or migrates the tables.
fn open_writer(server: &Arc<PostgresServer>) -> Result<PostgresConnection, QueryError> {
    let open = || {
        let mut connection = PostgresConnection::open_on_own_thread(server)?;
        tables::migrate(&mut connection)?;
        Ok(connection)
    };
    // As later on the thread of the writer: this one may be a part of a tokio runtime.
    match thread::scope(|scope| scope.spawn(open).join()) {
        Ok(opened) => opened,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A PostgreSQL server as the database of a store.
#[derive(Debug)]
struct PostgresDatabase {
    leases: Arc<Leases>,
    rates: ClientRates,
    server: Arc<PostgresServer>,
    folder: PathBuf,
}

impl Database for PostgresDatabase {
    fn location(&self) -> &Path {
        self.server.location()
    }

    fn writable_by_others(&self) -> Vec<PathBuf> {
        // The server decides who may write.
        Vec::new()
    }

    fn connect(&self) -> Result<Box<dyn StoreConnection>, QueryError> {
        Ok(Box::new(PostgresConnection::open(&self.server)?))
    }

    fn check_in_place(&self) -> Result<(), QueryError> {
        // A connection leads to the same server as long as it is open.
        Ok(())
    }

    fn lease(&self, id: &RunId, holder: &LeaseHolder) -> Result<Box<dyn RunLease>, StoreError> {
        let lease = self.leases.take(id, holder);
        let lease = lease.map_err(|error| error.at(self.location()))?;
        Ok(Box::new(lease))
    }

    fn create(
        &self,
        id: &RunId,
        holder: &LeaseHolder,
        insert: &SqlStatement<'static>,
    ) -> Result<Option<NewLease>, StoreError> {
        let created = self.leases.create(id, holder, insert);
        let (run, lease) = created.map_err(|error| error.at(self.location()))?;
        let lease = Box::new(lease);
        Ok(Some(NewLease { run, lease }))
    }

    fn holders(
        &self,
        session: &dyn SqlSession,
        ids: &[&RunId],
    ) -> Result<Vec<Option<LeaseHolder>>, QueryError> {
        lease::holders(session, ids)
    }

    fn version(&self) -> Result<i64, QueryError> {
        Ok(self.server.version())
    }

    fn request_version(&self) -> Result<i64, QueryError> {
        Ok(self.server.request_version())
    }

    fn count_requests(
        &self,
        client: &str,
        count: u32,
        rate: RequestRate,
    ) -> Result<Option<Duration>, QueryError> {
        self.rates.take(client, count, rate)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn write_timeout(&self) -> Duration {
        self.server.write_timeout()
    }

    fn processes_path(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("run-{id}.servers"))
    }
}
