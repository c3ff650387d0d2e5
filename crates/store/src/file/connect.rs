//! Opening of the database file and of connections to it, and the migrations of the tables, each applied once.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::inode::{StoreFile, create_folder, private_file};
use crate::database::QueryError;
use crate::error::{FileProblem, StoreError};
use crate::values::to_i64;

/// SQLite's `application_id` of our files: `PWst`.
const APPLICATION_ID: i32 = 0x5057_7374;

/// The file in the lock folder that names the inode that the folder belongs to.
const IDENTITY_FILE: &str = "inode";

/// The capacity of a connection's cache of prepared statements.
const STATEMENT_CACHE_SIZE: usize = 64;

/// The maximum pause between two attempts to get a lock that another process has.
const MAX_BUSY_PAUSE: Duration = Duration::from_millis(5);
/// The maximum number of such attempts, which take about half a minute.
const MAX_BUSY_RETRIES: i32 = 6_000;

/// A database file that is ready for use.
pub(crate) struct OpenedFile {
    pub(crate) connection: Connection,
    pub(crate) file: Arc<StoreFile>,
    /// The folder of the lock files.
    pub(crate) lock_folder: PathBuf,
}

/// Opens the file, and creates or migrates it if necessary.
pub(crate) fn open(path: &Path) -> Result<OpenedFile, StoreError> {
    let failed = |trouble: FileProblem| StoreError::File {
        path: path.to_owned(),
        trouble,
    };
    let io_failed = |error: io::Error| {
        failed(match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                FileProblem::ReadOnly
            }
            _ => FileProblem::Failed(error.to_string()),
        })
    };
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(failed(FileProblem::NotAFile)),
        Ok(found) if found.permissions().readonly() => return Err(failed(FileProblem::ReadOnly)),
        Ok(_) => {}
        Err(_) => create_folder(path.parent().unwrap_or(Path::new(""))).map_err(io_failed)?,
    }
    let file = Arc::new(StoreFile::open(path).map_err(io_failed)?);
    let lock_folder = lock_folder(file.path());
    if 1 < file.names() && !is_own_name(&file, &lock_folder) {
        return Err(failed(FileProblem::Linked));
    }
    let connection = connect(file.path())?;
    let of = |error: QueryError| error.at(path);
    let is_ready = is_ready(&connection).map_err(of)?;
    // Checked before anything is created beside a file of another program.
    if !is_ready {
        refuse_foreign(&connection).map_err(of)?;
    }
    create_folder(&lock_folder).map_err(io_failed)?;
    if !is_ready {
        // One process at a time: the busy handler is not called when the journal mode changes.
        let lock = private_file(&lock_folder.join("setup.lock")).map_err(io_failed)?;
        lock.lock().map_err(io_failed)?;
        set_up(&connection).map_err(of)?;
    }
    // A name is recorded only while the file has no other one, since another one may be in use.
    if file.names() == 1 && !is_own_name(&file, &lock_folder) {
        private_file(&lock_folder.join(IDENTITY_FILE))
            .and_then(|mut identity| {
                identity.set_len(0)?;
                identity.write_all(file.identity().as_bytes())
            })
            .map_err(io_failed)?;
    }
    Ok(OpenedFile {
        connection,
        file,
        lock_folder,
    })
}

/// Opens a connection to a file that is ready.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let of = |error: rusqlite::Error| QueryError::from(error).at(path);
    // Without `CREATE`, since the file exists, and without `URI`, since a path that looks like one is a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    connection.busy_handler(Some(wait)).map_err(of)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    // A commit must be on the disk when it returns, and the schema of a file may be hostile.
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")
        .map_err(of)?;
    Ok(connection)
}

/// The migrations from an empty file to the newest layout. A published one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/layout_1.sql"),
    include_str!("migrations/layout_2.sql"),
    include_str!("migrations/layout_3.sql"),
    include_str!("migrations/layout_4.sql"),
    include_str!("migrations/layout_5.sql"),
    include_str!("migrations/layout_6.sql"),
    include_str!("migrations/layout_7.sql"),
    include_str!("migrations/layout_8.sql"),
];

/// Returns true if the file has the newest layout.
fn has_newest_layout(connection: &Connection) -> Result<bool, QueryError> {
    applied_migrations(connection, MIGRATIONS.len()).map(|found| found == to_i64(MIGRATIONS.len()))
}

/// Applies the missing migrations in one transaction, and sets the `application_id` of the file.
fn migrate(
    connection: &Connection,
    migrations: &[&str],
    application_id: i32,
) -> Result<(), QueryError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // In the same transaction: another process would take a file with tables but without the id for a foreign one.
    let result = apply_missing(connection, migrations)
        .and_then(|()| Ok(connection.pragma_update(None, "application_id", application_id)?));
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    result
}

/// Returns the path of the lock folder: `store.db.runs`.
fn lock_folder(path: &Path) -> PathBuf {
    let mut folder = OsString::from(path);
    folder.push(".runs");
    PathBuf::from(folder)
}

/// Returns true if a file with several names (hard links) is opened by the name that it had first.
///
/// SQLite derives the name of its write-ahead log from the name of the file. Under another name it would neither see the commits in
/// that log nor share the locks on it. Symbolic links are harmless: they are resolved.
fn is_own_name(file: &StoreFile, lock_folder: &Path) -> bool {
    fs::read_to_string(lock_folder.join(IDENTITY_FILE))
        .is_ok_and(|identity| identity == file.identity())
}

/// Handles a lock of another process: pauses, and returns true to try again. SQLite's own handler pauses up to a tenth of a second,
/// a hundred times as long as a typical commit takes.
fn wait(attempts: i32) -> bool {
    let pause = Duration::from_micros(50).saturating_mul(1 << attempts.clamp(0, 10));
    thread::sleep(pause.min(MAX_BUSY_PAUSE));
    attempts < MAX_BUSY_RETRIES
}

fn is_ready(connection: &Connection) -> Result<bool, QueryError> {
    Ok(application_id(connection)? == APPLICATION_ID && has_newest_layout(connection)?)
}

/// Initializes an empty file, and migrates an older one. The caller has the setup lock.
fn set_up(connection: &Connection) -> Result<(), QueryError> {
    refuse_foreign(connection)?;
    if application_id(connection)? != APPLICATION_ID {
        // `auto_vacuum` cannot be enabled once there are tables.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")?;
    }
    migrate(connection, MIGRATIONS, APPLICATION_ID)
}

/// Refuses a file that another program created.
fn refuse_foreign(connection: &Connection) -> Result<(), QueryError> {
    let id = application_id(connection)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if id == APPLICATION_ID || id == 0 && tables == 0 {
        return Ok(());
    }
    Err(QueryError::Store(StoreError::File {
        path: connection.path().unwrap_or_default().into(),
        trouble: FileProblem::Foreign,
    }))
}

/// Returns the `application_id` of the file.
fn application_id(connection: &Connection) -> Result<i32, QueryError> {
    Ok(connection.pragma_query_value(None, "application_id", |row| row.get(0))?)
}

fn apply_missing(connection: &Connection, migrations: &[&str]) -> Result<(), QueryError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS layouts (version INTEGER PRIMARY KEY, taken_at INTEGER NOT NULL) STRICT;",
    )?;
    let found = applied_migrations(connection, migrations.len())?;
    let numbered = (1_i64..).zip(migrations);
    for (version, migration) in numbered.filter(|(version, _)| found < *version) {
        connection.execute_batch(migration)?;
        connection.execute(
            "INSERT INTO layouts (version, taken_at) VALUES (?1, unixepoch())",
            [version],
        )?;
    }
    Ok(())
}

/// Returns the layout of the file, 0 for an empty one. Refuses a layout above `known`.
fn applied_migrations(connection: &Connection, known: usize) -> Result<i64, QueryError> {
    let table: Option<String> = connection
        .query_row(
            "SELECT name FROM sqlite_schema WHERE name = 'layouts'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    if table.is_none() {
        return Ok(0);
    }
    let found: i64 =
        connection.query_row("SELECT coalesce(max(version), 0) FROM layouts", [], |row| {
            row.get(0)
        })?;
    let known = to_i64(known);
    // A newer program may have changed the meaning of the tables, so this one neither reads nor writes them.
    if known < found {
        return Err(QueryError::Store(StoreError::File {
            path: connection.path().unwrap_or_default().into(),
            trouble: FileProblem::Newer { found, known },
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[&str] = &["CREATE TABLE a (x INTEGER);"];
    const NEW: &[&str] = &[
        "CREATE TABLE a (x INTEGER);",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;",
    ];

    #[test]
    fn each_migration_is_applied_once() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, OLD, 1).unwrap();
        connection
            .execute_batch("INSERT INTO a VALUES (1)")
            .unwrap();
        migrate(&connection, NEW, 1).unwrap();
        migrate(&connection, NEW, 1).unwrap();
        let row = connection.query_row("SELECT x, y FROM a", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(row.unwrap(), (1, 7));
        assert_eq!(applied_migrations(&connection, 2).unwrap(), 2);
    }

    #[test]
    fn a_newer_layout_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, NEW, 1).unwrap();
        let error = migrate(&connection, OLD, 1).unwrap_err();
        let QueryError::Store(StoreError::File { trouble, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(trouble, FileProblem::Newer { found: 2, known: 1 });
    }

    #[test]
    fn a_failed_migration_is_rolled_back() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, OLD, 1).unwrap();
        let broken = [
            OLD[0],
            "CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER);",
        ];
        assert!(migrate(&connection, &broken, 1).is_err());
        assert_eq!(applied_migrations(&connection, 2).unwrap(), 1);
        assert!(connection.prepare("SELECT x FROM b").is_err());
    }
}
