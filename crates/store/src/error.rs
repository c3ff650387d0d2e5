//! Errors of the store.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use planwright_core::ServerName;
use planwright_engine::RunId;
use planwright_engine::approval::ChangedSecretError;

/// An error of a store operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be used.
    #[error("the store `{}` {trouble}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The problem.
        trouble: FileProblem,
    },
    /// No run or plan matches the selector.
    #[error("there is no {what} `{selector}`")]
    Missing {
        /// `run` or `plan`.
        what: &'static str,
        /// The id, name or prefix that was looked up.
        selector: String,
    },
    /// Several ids begin with the selector.
    #[error(
        "`{selector}` is the beginning of several {what}s: {}",
        join_ids(candidates)
    )]
    Ambiguous {
        /// `run` or `plan`.
        what: &'static str,
        /// The prefix that was looked up.
        selector: String,
        /// Some of the ids that begin with it.
        candidates: Vec<String>,
    },
    /// The id is in use.
    #[error("the {what} `{id}` already exists")]
    Exists {
        /// `run`.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// The name or id is invalid.
    #[error(
        "`{name}` cannot be the {what}: it must have at most 128 letters, digits, `_`, `-` and `.`, with no `.` or `-` in front"
    )]
    BadName {
        /// The use of the name, such as `id of a run`.
        what: &'static str,
        /// The name, truncated.
        name: String,
    },
    /// Another process has leased the run.
    #[error("the run `{run}` is in use by {holder}")]
    Leased {
        /// The run.
        run: RunId,
        /// The process that has the lease.
        holder: LeaseHolder,
    },
    /// The client has reached its limit of runs that are leased, over all processes.
    #[error(
        "this client has reached the maximum of plans in progress ({max}), over all processes; wait for one to end"
    )]
    ClientBusy {
        /// The limit.
        max: u64,
    },
    /// The run was removed from the store while this process had leased it.
    #[error("the run `{run}` was removed from the store while it was in progress")]
    Removed {
        /// The run.
        run: RunId,
    },
    /// Another process resumed the run while this process had leased it.
    #[error("the run `{run}` was resumed by another process while it was in progress")]
    Superseded {
        /// The run.
        run: RunId,
    },
    /// The same call has a decision already.
    #[error("`{at}` of the run `{run}` was already decided{}", by.as_ref().map_or(String::new(), |by| format!(", by {by}")))]
    Decided {
        /// The run.
        run: RunId,
        /// The address of the step.
        at: String,
        /// The person who decided, if known.
        by: Option<String>,
    },
    /// The plan of the run was approved as a whole before.
    #[error("the plan of the run `{run}` was approved before{}", by.as_ref().map_or(String::new(), |by| format!(", by {by}")))]
    PlanApproved {
        /// The run.
        run: RunId,
        /// The person who approved it, if known.
        by: Option<String>,
    },
    /// No process drives the run.
    #[error("no process drives the run `{run}`")]
    Idle {
        /// The run.
        run: RunId,
    },
    /// The changed arguments of an approval change or move a secret.
    #[error("the arguments for `{at}` of the run `{run}` cannot be stored: {error}")]
    ChangedSecret {
        /// The run.
        run: RunId,
        /// The address of the step.
        at: String,
        /// The reason.
        error: ChangedSecretError,
    },
    /// The definition to accept is no longer the latest one.
    #[error("{} changed again since it was shown", match tool {
        Some(tool) => format!("the tool `{server}.{tool}`"),
        None => format!("the server `{server}`"),
    })]
    ToolChanged {
        /// The server.
        server: ServerName,
        /// The tool; `None` if it is the identity of the server or the list of its tools.
        tool: Option<String>,
    },
    /// Stored or imported data is invalid, or written by a newer version.
    #[error("{0}")]
    Format(String),
}

/// A problem with the file of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileProblem {
    /// The file belongs to another program.
    Foreign,
    /// A newer version of this program created the file.
    Newer {
        /// The layout of the file.
        found: i64,
        /// The newest layout that this version supports.
        known: i64,
    },
    /// The content is damaged.
    Damaged(String),
    /// The disk is full, or the [limit](crate::Store::limit_size) is reached.
    Full,
    /// The path names a folder, a device or another special file.
    NotAFile,
    /// The file has several names (hard links), and the store is used by another one.
    Linked,
    /// The file was removed or replaced while it was open.
    Gone,
    /// The file is not writable.
    ReadOnly,
    /// Other processes locked the file for too long.
    Busy,
    /// The server of the database cannot be reached now.
    Unreachable(String),
    /// Another operating system or SQLite error.
    Failed(String),
}

impl StoreError {
    /// Returns true if the database cannot be reached now, so that a later attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::File {
                trouble: FileProblem::Unreachable(_),
                ..
            }
        )
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("belongs to another program"),
            Self::Newer { found, known } => write!(
                f,
                "was created by a newer version: its schema version is {found}, and {known} is the newest supported"
            ),
            Self::Damaged(reason) => write!(f, "is damaged: {reason}"),
            Self::Full => f.write_str("cannot grow: the disk is full"),
            Self::NotAFile => f.write_str("is not a regular file"),
            Self::Linked => f.write_str(
                "has several names (hard links), and this is not the one that it was first opened by",
            ),
            Self::Gone => f.write_str("was removed or replaced while it was in use"),
            Self::ReadOnly => f.write_str("cannot be written to"),
            Self::Busy => f.write_str("is in use by another process"),
            Self::Unreachable(reason) | Self::Failed(reason) => {
                write!(f, "cannot be used: {reason}")
            }
        }
    }
}

fn join_ids(candidates: &[String]) -> String {
    let quoted: Vec<String> = candidates.iter().map(|id| format!("`{id}`")).collect();
    quoted.join(", ")
}

/// The self-description of a process that has leased a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseHolder {
    /// The process id; 0 if unknown.
    pub pid: u32,
    /// The host name; empty if unknown.
    pub host: String,
    /// The start of the lease.
    pub since: SystemTime,
    /// The client whose plan the run is, with its limit. A database that processes of one machine use does not read it.
    pub client: Option<ClientLimit>,
}

/// A client with its limit of runs that are leased at a time, over all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimit {
    /// The name of the client.
    pub client: String,
    /// The limit.
    pub max: u64,
}

impl LeaseHolder {
    /// Describes this process.
    pub fn this_process(host: impl Into<String>, since: SystemTime) -> Self {
        Self {
            pid: std::process::id(),
            host: host.into(),
            since,
            client: None,
        }
    }
}

impl fmt::Display for LeaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &*self.host) {
            (0, _) => f.write_str("another process"),
            (pid, "") => write!(f, "process {pid}"),
            (pid, host) => write!(f, "process {pid} on `{host}`"),
        }
    }
}
