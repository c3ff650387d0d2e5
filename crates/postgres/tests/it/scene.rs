//! A store in a database of its own, for a test.

use std::time::Duration;

use planwright_postgres::{PostgresOptions, open};
use planwright_store::Store;
use planwright_testkit::postgres::{PostgresDatabase, PostgresServer};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

/// A store in a new database.
pub(crate) struct Scene {
    pub(crate) store: Store,
    database: PostgresDatabase,
    folder: TempDir,
}

pub(crate) fn scene() -> Scene {
    let database = PostgresDatabase::create().unwrap();
    let folder = tempfile::tempdir().unwrap();
    Scene {
        store: open(database.url(), options(&folder)).unwrap(),
        database,
        folder,
    }
}

impl Scene {
    /// Opens the same store once more, as another process does.
    pub(crate) fn open_again(&self) -> Store {
        open(self.database.url(), options(&self.folder)).unwrap()
    }

    /// Opens the same store through another address.
    pub(crate) fn open_at(&self, url: &str) -> Store {
        open(url, options(&self.folder)).unwrap()
    }

    /// Returns the address of the database.
    pub(crate) fn url(&self) -> &str {
        self.database.url()
    }

    /// Lets the lease of a run expire.
    pub(crate) fn expire_lease(&self, run: &str) {
        self.direct().execute(&format!(
            "UPDATE planwright.leases SET expires = now() - interval '1 second' WHERE run = '{run}'"
        ));
    }

    /// Connects to the database.
    pub(crate) fn direct(&self) -> Direct {
        Direct::connect(self.database.url())
    }
}

/// A connection of a test.
pub(crate) struct Direct {
    runtime: Runtime,
    client: Client,
}

impl Direct {
    fn connect(url: &str) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (client, connection) = runtime
            .block_on(tokio_postgres::connect(url, NoTls))
            .unwrap();
        runtime.spawn(connection);
        Self { runtime, client }
    }

    /// Executes statements.
    pub(crate) fn execute(&self, sql: &str) {
        self.runtime
            .block_on(self.client.batch_execute(sql))
            .unwrap();
    }

    /// Returns the number of sessions of the database with this condition.
    pub(crate) fn sessions(&self, condition: &str) -> i64 {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {condition}"
        );
        self.runtime
            .block_on(self.client.query_one(&sql, &[]))
            .unwrap()
            .get(0)
    }

    /// Repeats a query until its result is true.
    pub(crate) fn wait_until(&self, sql: &str) {
        while !self
            .runtime
            .block_on(self.client.query_one(sql, &[]))
            .unwrap()
            .get::<_, bool>(0)
        {
            std::thread::yield_now();
        }
    }
}

/// A store in a server of its own, which the test may kill.
pub(crate) struct ServerScene {
    pub(crate) store: Store,
    pub(crate) server: PostgresServer,
    folder: TempDir,
}

pub(crate) fn server_scene() -> ServerScene {
    let server = PostgresServer::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    ServerScene {
        store: open(&server.url(), options(&folder)).unwrap(),
        server,
        folder,
    }
}

impl ServerScene {
    /// Opens the same store once more, as another process does.
    pub(crate) fn open_again(&self) -> Store {
        open(&self.server.url(), options(&self.folder)).unwrap()
    }
}

/// Leases that expire soon, and some patience with a server that starts.
pub(crate) fn options(folder: &TempDir) -> PostgresOptions {
    PostgresOptions {
        lease_time: Duration::from_secs(2),
        write_timeout: Duration::from_mins(1),
        ..PostgresOptions::new(folder.path())
    }
}
