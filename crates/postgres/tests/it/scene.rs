//! A store in a database of its own, for a test.

use std::time::Duration;

use planwright_postgres::{PostgresOptions, open};
use planwright_store::Store;
use planwright_testkit::postgres::{PostgresDatabase, PostgresServer};
use tempfile::TempDir;
use tokio_postgres::NoTls;

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

    /// Lets all leases of runs expire.
    pub(crate) fn expire_leases(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let url = self.database.url();
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let expire = "UPDATE planwright.leases SET expires = now() - interval '1 second'";
            client.batch_execute(expire).await.unwrap();
        });
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
fn options(folder: &TempDir) -> PostgresOptions {
    PostgresOptions {
        lease_time: Duration::from_secs(2),
        patience: Duration::from_mins(1),
        ..PostgresOptions::new(folder.path())
    }
}
