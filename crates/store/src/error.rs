//! What can go wrong in the store.

use std::fmt;
use std::path::PathBuf;

use planwright_engine::approval::ChangedSecretError;
use rusqlite::ErrorCode;

use crate::lease::Holder;

/// Why the store could not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something is the matter with the file.
    #[error("the store `{}` {trouble}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What.
        trouble: FileTrouble,
    },
    /// There is no such thing in the store.
    #[error("there is no {what} `{selector}`")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// What was looked for.
        selector: String,
    },
    /// Several things begin with what was looked for.
    #[error(
        "`{selector}` is the beginning of several {what}s: {}",
        list(candidates)
    )]
    Ambiguous {
        /// What kind of thing.
        what: &'static str,
        /// What was looked for.
        selector: String,
        /// The ids that begin with it, a few of them.
        candidates: Vec<String>,
    },
    /// A thing of this name is there already.
    #[error("there is a {what} `{id}` already")]
    Exists {
        /// What kind of thing.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Something cannot be called this.
    #[error(
        "`{name}` cannot be the {what}: only up to 128 letters, digits, `_`, `-` and `.` can, with no `.` or `-` in front"
    )]
    BadName {
        /// What it was to be.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Another process has the run.
    #[error("the run `{run}` is held by {holder}")]
    Held {
        /// The run.
        run: String,
        /// Who has it, where that is known.
        holder: Holder,
    },
    /// The run was removed from the store while this process had it.
    #[error("the run `{run}` was removed from the store while it was in progress")]
    Removed {
        /// The run.
        run: String,
    },
    /// Another process has resumed the run while this process had it.
    #[error("the run `{run}` was resumed by another process while it was in progress")]
    Overtaken {
        /// The run.
        run: String,
    },
    /// The same call was decided about before.
    #[error("`{at}` of the run `{run}` was decided about before{}", by.as_ref().map_or(String::new(), |by| format!(", by {by}")))]
    Decided {
        /// The run.
        run: String,
        /// Who wants to call.
        at: String,
        /// Who decided, where that is known.
        by: Option<String>,
    },
    /// A call was to be approved with other arguments, and those do something about a secret that cannot be done.
    #[error("the arguments for `{at}` of the run `{run}` cannot be stored: {error}")]
    ChangedSecret {
        /// The run.
        run: String,
        /// Who wants to call.
        at: String,
        /// What.
        error: ChangedSecretError,
    },
    /// A definition was to be accepted that is not the latest one any more.
    #[error("{} changed again since it was shown", match tool {
        Some(tool) => format!("the tool `{server}.{tool}`"),
        None => format!("the server `{server}`"),
    })]
    ToolChanged {
        /// The server.
        server: String,
        /// The tool; `None` if it is the identity of the server or the list of its tools.
        tool: Option<String>,
    },
    /// Something stands in the store that this version does not understand.
    #[error("{0}")]
    Format(String),
}

/// What is the matter with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileTrouble {
    /// It belongs to something else.
    Foreign,
    /// A newer version of this program made it.
    Newer {
        /// The layout that it has.
        found: i64,
        /// The newest layout that is known here.
        known: i64,
    },
    /// Its content makes no sense.
    Damaged(String),
    /// There is no room for more.
    Full,
    /// It is a folder, a device or the like.
    NoFile,
    /// It has several names (hard links), and this is not the one that it is used by.
    Linked,
    /// It was removed or replaced while it was open.
    Gone,
    /// Nobody may write to it.
    ReadOnly,
    /// Others write to it all the time.
    Busy,
    /// Something else.
    Failed(String),
}

impl fmt::Display for FileTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("belongs to another program"),
            Self::Newer { found, known } => write!(
                f,
                "was made by a newer version: it has the layout {found}, the newest known here is {known}"
            ),
            Self::Damaged(reason) => write!(f, "is damaged: {reason}"),
            Self::Full => f.write_str("cannot grow: the disk is full"),
            Self::NoFile => f.write_str("is not a regular file"),
            Self::Linked => f.write_str(
                "is a hard link of a file that has other names, and is not known to be used by this one",
            ),
            Self::Gone => f.write_str("was removed or replaced while it was in use"),
            Self::ReadOnly => f.write_str("cannot be written to"),
            Self::Busy => f.write_str("is kept busy by another process"),
            Self::Failed(reason) => write!(f, "cannot be used: {reason}"),
        }
    }
}

fn list(candidates: &[String]) -> String {
    let quoted: Vec<String> = candidates.iter().map(|id| format!("`{id}`")).collect();
    quoted.join(", ")
}

/// What goes wrong between the tables, where the path is of no interest.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// The error as others see it.
    pub(crate) fn of(self, path: &std::path::Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(error) => StoreError::File {
                path: path.to_owned(),
                trouble: FileTrouble::from(&error),
            },
        }
    }

    /// Whether a row is there already that was to be added.
    pub(crate) fn is_conflict(&self) -> bool {
        match self {
            Self::Store(_) => false,
            Self::Sqlite(error) => {
                let code = error.sqlite_error().map(|error| error.extended_code);
                code == Some(rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
            }
        }
    }

    /// Whether it may be due to what was written, so that something else may well be written.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Store(_) => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::TooBig
                        | ErrorCode::OutOfMemory
                        | ErrorCode::ConstraintViolation
                )
            ),
        }
    }
}

impl From<&rusqlite::Error> for FileTrouble {
    fn from(error: &rusqlite::Error) -> Self {
        let reason = match error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
            other => other.to_string(),
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(reason),
            _ => Self::Failed(reason),
        }
    }
}
