//! Opening of the database file and of connections to it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use rusqlite::{Connection, OpenFlags};

use super::inode::{StoreFile, create_folder, private_file};
use super::migrations;
use crate::error::{FileProblem, QueryError, StoreError};

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
    // Before anything is created beside a file that is not ours.
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
    // Only while the file has a single name is it certain that it is used by this one.
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

/// Handles a lock of another process: pauses, and returns true to try again. SQLite's own handler pauses up to a tenth of a second,
/// a hundred times as long as a typical commit takes.
fn wait(attempts: i32) -> bool {
    let pause = Duration::from_micros(50).saturating_mul(1 << attempts.clamp(0, 10));
    thread::sleep(pause.min(MAX_BUSY_PAUSE));
    attempts < MAX_BUSY_RETRIES
}

fn is_ready(connection: &Connection) -> Result<bool, QueryError> {
    Ok(application_id(connection)? == APPLICATION_ID && migrations::is_current(connection)?)
}

/// Initializes an empty file, and migrates an older one. The caller has the setup lock.
fn set_up(connection: &Connection) -> Result<(), QueryError> {
    refuse_foreign(connection)?;
    if application_id(connection)? != APPLICATION_ID {
        // `auto_vacuum` cannot be enabled once there are tables.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")?;
    }
    migrations::migrate(connection, migrations::MIGRATIONS, APPLICATION_ID)
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
