//! How the file is opened.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::inode::StoreFile;
use super::layout;
use super::private::{create_folder, private_file};
use crate::error::{Fault, FileTrouble, StoreError};

/// What marks a SQLite file as ours: `PWst`.
const APPLICATION: i32 = 0x5057_7374;

/// The file in the folder of locks that says which file the folder belongs to.
const RECORD: &str = "inode";

/// How many statements a connection keeps ready.
const STATEMENTS: usize = 64;

/// The longest pause between two looks at whether another process has done its writing.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// How often to look before giving up: for about half a minute.
const LOOKS: i32 = 6_000;

/// A file that is ready.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) file: Arc<StoreFile>,
    /// The folder for the locks.
    pub(crate) beside: PathBuf,
}

/// Makes the file ready, whatever state it is in, and opens it.
pub(crate) fn open(path: &Path) -> Result<Opened, StoreError> {
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
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(failed(FileTrouble::NoFile)),
        Ok(found) if found.permissions().readonly() => return Err(failed(FileTrouble::ReadOnly)),
        Ok(_) => {}
        Err(_) => create_folder(path.parent().unwrap_or(Path::new(""))).map_err(io_failed)?,
    }
    let file = Arc::new(StoreFile::open(path).map_err(io_failed)?);
    let beside = beside(file.path());
    if 1 < file.names() && !is_own_name(&file, &beside) {
        return Err(failed(FileTrouble::Linked));
    }
    let connection = connect(file.path())?;
    let of = |fault: Fault| fault.of(path);
    let is_ready = is_ready(&connection).map_err(of)?;
    if !is_ready {
        refuse_foreign(&connection).map_err(of)?;
    }
    create_folder(&beside).map_err(io_failed)?;
    if !is_ready {
        // One process at a time, for SQLite does not wait for its turn where the journal changes its mode.
        let lock = private_file(&beside.join("setup.lock")).map_err(io_failed)?;
        lock.lock().map_err(io_failed)?;
        set_up(&connection).map_err(of)?;
    }
    if file.names() == 1 && !is_own_name(&file, &beside) {
        private_file(&beside.join(RECORD))
            .and_then(|mut record| {
                record.set_len(0)?;
                record.write_all(file.record().as_bytes())
            })
            .map_err(io_failed)?;
    }
    Ok(Opened {
        connection,
        file,
        beside,
    })
}

/// The folder beside the file: `store.db.runs`.
fn beside(path: &Path) -> PathBuf {
    let mut beside = OsString::from(path);
    beside.push(".runs");
    PathBuf::from(beside)
}

/// Whether a file with several names (hard links) is opened by the one that it was used by when it had no other.
///
/// SQLite keeps what it has not yet written back in a second file beside the name that it was given, so by another name it would
/// neither see these commits nor take part in the locks on them. Symbolic links do no such harm: they are resolved.
fn is_own_name(file: &StoreFile, beside: &Path) -> bool {
    fs::read_to_string(beside.join(RECORD)).is_ok_and(|record| record == file.record())
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
    refuse_foreign(connection)?;
    if mark(connection)? != APPLICATION {
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")?;
    }
    layout::migrate(connection, layout::STEPS, APPLICATION)
}

/// Refuses a file that another program made.
fn refuse_foreign(connection: &Connection) -> Result<(), Fault> {
    let mark = mark(connection)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if mark == APPLICATION || mark == 0 && tables == 0 {
        return Ok(());
    }
    Err(Fault::Store(StoreError::File {
        path: connection.path().unwrap_or_default().into(),
        trouble: FileTrouble::Foreign,
    }))
}

/// The mark of the program that made the file.
fn mark(connection: &Connection) -> Result<i32, Fault> {
    Ok(connection.pragma_query_value(None, "application_id", |row| row.get(0))?)
}
