//! Errors of the service.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use planwright_core::check::ToolMismatch;
use planwright_core::{Diagnostics, ToolName};
use planwright_engine::RunId;
use planwright_engine::StartError;
use planwright_engine::id::InvalidRunId;
#[cfg(feature = "mcp")]
use planwright_mcp::{ConfigError, ServerFailure};

/// The reason why tools cannot be opened, or a run cannot start or be resumed.
///
/// A failed tool call is not one of these: it is in the [summary](crate::RunSummary) of the run.
///
/// Its [`Debug`] form is for people, since a `main` that returns it prints it: all diagnostics, or the help, and the output of a server that did not start.
#[derive(thiserror::Error)]
pub enum Error {
    /// The plan has errors. Contains all diagnostics, warnings included; their text is suitable for models, too.
    #[error("{}", rejection(.0))]
    Rejected(Diagnostics),
    /// A file or folder cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A configuration of servers names no servers.
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A server did not start.
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    Server(#[from] ServerFailure),
    /// Two servers have the same name, so their tools would be ambiguous.
    #[error("two servers are called `{0}`")]
    SameName(Arc<str>),
    /// A server or tool of the program has a name that plans cannot write.
    #[error(
        "`{name}` cannot be the name of a {what}: only up to 128 letters, digits, `_` and `-` can, and `.` and `/` in those of tools"
    )]
    BadName {
        /// The kind: `server` or `tool`.
        what: &'static str,
        /// The name.
        name: Arc<str>,
    },
    /// Two tools have one name, as `server.tool`.
    #[error("two tools are called `{0}`")]
    SameTool(ToolName),
    /// The parameters of a function are not the fields of an object, so that no plan could name its arguments.
    #[error("the parameters of `{0}` are not the fields of an object")]
    NoParameters(ToolName),
    /// The plan was checked with other tools or rules than those that it is to run with. Nothing was called.
    #[error("the plan was checked with other tools: {}", mismatches(.0))]
    OtherTools(Vec<ToolMismatch>),
    /// The history belongs to another plan. Nothing was called.
    #[error("the history is that of another plan")]
    OtherPlan,
    /// A run with this id is in progress. Nothing was called.
    #[error("a run with the id `{0}` is in progress")]
    InProgress(RunId),
    /// A text cannot be the id of a run. Nothing was called.
    #[error(transparent)]
    RunId(#[from] InvalidRunId),
    /// The history or the journal does not fit the run. Nothing was called.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run cannot be stored, or not be resumed, or tools cannot be pinned. Nothing was called.
    #[cfg(feature = "store")]
    #[error(transparent)]
    StoredRun(#[from] crate::stored::StoredRunError),
    /// The call was made outside of a tokio runtime. Nothing was called.
    #[error("there is no tokio runtime to run in")]
    NoRuntime,
    /// The service has no store with runs.
    #[cfg(feature = "store")]
    #[error("the service has no store")]
    NoStore,
    /// The plan reverts what it did if it fails, and the library is built without stores. Nothing was called.
    #[cfg(not(feature = "store"))]
    #[error("the plan has `on_failure: revert`, and runs are not stored here")]
    NoRevert,
    /// The run has ended, so that nothing can be added to it.
    #[error("the run has ended")]
    Ended,
}

impl Error {
    /// Returns the diagnostics of the plan, if it was rejected.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        if let Self::Rejected(diagnostics) = self {
            return Some(diagnostics);
        }
        None
    }

    /// Returns the help, if any. Diagnostics have their own.
    pub fn help(&self) -> Option<&str> {
        match self {
            #[cfg(feature = "mcp")]
            Self::Config(error) => Some(&error.help),
            #[cfg(feature = "mcp")]
            Self::Server(failure) => Some(&failure.help),
            Self::NoParameters(_) => Some(
                "give the function one parameter: a struct that derives `Deserialize` and `JsonSchema`",
            ),
            Self::OtherTools(_) => Some("check the plan with the `Planwright` that runs it"),
            Self::OtherPlan => Some(
                "resume the plan that the history was read for; a stored run takes another plan by `Resume::plan`",
            ),
            Self::NoRuntime => {
                Some("call it within a tokio runtime, such as in a function with `#[tokio::main]`")
            }
            #[cfg(feature = "store")]
            Self::NoStore => Some("give it one: `Planwright::with_store`"),
            Self::InProgress(_) => Some("wait until it has ended, or use another id"),
            Self::Rejected(_)
            | Self::Unreadable { .. }
            | Self::SameName(_)
            | Self::BadName { .. }
            | Self::SameTool(_)
            | Self::RunId(_)
            | Self::Start(_)
            | Self::Ended => None,
            #[cfg(not(feature = "store"))]
            Self::NoRevert => Some("enable the feature `store`"),
            #[cfg(feature = "store")]
            Self::StoredRun(_) => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(diagnostics) => write!(f, "the plan is not sound\n{diagnostics}"),
            Self::Unreadable { source, .. } => write!(f, "{self}: {source}"),
            _ => match self.help() {
                Some(help) => write!(f, "{self}\n{help}"),
                None => write!(f, "{self}"),
            },
        }?;
        match self {
            #[cfg(feature = "mcp")]
            Self::Server(failure) if !failure.stderr.is_empty() => {
                write!(f, "\nIt wrote:\n{}", failure.stderr.trim_end())
            }
            _ => Ok(()),
        }
    }
}

/// Formats the first error, and the number of further ones.
fn rejection(diagnostics: &Diagnostics) -> String {
    let mut errors = diagnostics.iter().filter(|finding| finding.is_error());
    match (errors.next(), errors.count()) {
        (None, _) => "the plan is not sound".to_owned(),
        (Some(only), 0) => format!("the plan is not sound: {only}"),
        (Some(first), more) => format!("the plan is not sound: {first}; and {more} more"),
    }
}

/// The list of differences.
fn mismatches(found: &[ToolMismatch]) -> String {
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    found.join("; ")
}
