//! How the file is opened.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::layout;
use super::private::{create_folder, private_file};
use crate::error::{Fault, FileTrouble, StoreError};

/// What marks a SQLite file as ours: `PWst`.
const APPLICATION: i32 = 0x5057_7374;

/// How many statements a connection keeps ready.
const STATEMENTS: usize = 64;

/// The longest pause between two looks at whether another process has done its writing.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// How often to look before giving up: for about half a minute.
const LOOKS: i32 = 6_000;

/// Makes the file ready, whatever state it is in, and opens it. `beside` is the folder for the locks.
pub(crate) fn open(path: &Path, beside: &Path) -> Result<Connection, StoreError> {
    let failed = |trouble: FileTrouble| StoreError::File {
        path: path.to_owned(),
        trouble,
    };
    let io_failed = |error: io::Error| {
        failed(match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                FileTrouble::ReadOnly
            }
            _ => FileTrouble::Failed(error.to_string()),
        })
    };
    create_folder(path.parent().unwrap_or(Path::new(""))).map_err(io_failed)?;
    let file = private_file(path).map_err(io_failed)?;
    if file.metadata().map_err(io_failed)?.permissions().readonly() {
        return Err(failed(FileTrouble::ReadOnly));
    }
    create_folder(beside).map_err(io_failed)?;
    let connection = connect(path)?;
    let of = |fault: Fault| fault.of(path);
    if !is_ready(&connection).map_err(of)? {
        // One process at a time, for SQLite does not wait for its turn where the journal changes its mode.
        let lock = private_file(&beside.join("setup.lock")).map_err(io_failed)?;
        lock.lock().map_err(io_failed)?;
        set_up(&connection).map_err(of)?;
    }
    Ok(connection)
}

/// Opens the file, which is ready.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let of = |error: rusqlite::Error| Fault::from(error).of(path);
    // The file is there; what were a URI is a name like any other.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    connection.busy_handler(Some(wait)).map_err(of)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A commit is on the disk when it is done; what SQL says about structure is not to be believed blindly.
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")
        .map_err(of)?;
    Ok(connection)
}

/// Waits for another process to do its writing. SQLite's own way pauses up to a tenth of a second, a hundred times as
/// long as what it waits for takes.
fn wait(looks: i32) -> bool {
    let pause = Duration::from_micros(50).saturating_mul(1 << looks.clamp(0, 10));
    thread::sleep(pause.min(LONGEST_PAUSE));
    looks < LOOKS
}

fn is_ready(connection: &Connection) -> Result<bool, Fault> {
    Ok(mark(connection)? == APPLICATION && layout::is_current(connection)?)
}

/// Makes an empty file ours, and an older one current. Nobody else does so at the same time.
fn set_up(connection: &Connection) -> Result<(), Fault> {
    let mark = mark(connection)?;
    if mark != APPLICATION {
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if mark != 0 || 0 < tables {
            return Err(Fault::Store(StoreError::File {
                path: connection.path().unwrap_or_default().into(),
                trouble: FileTrouble::Foreign,
            }));
        }
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")?;
    }
    layout::migrate(connection, layout::STEPS, APPLICATION)
}

/// The mark of the program that made the file.
fn mark(connection: &Connection) -> Result<i32, Fault> {
    Ok(connection.pragma_query_value(None, "application_id", |row| row.get(0))?)
}
