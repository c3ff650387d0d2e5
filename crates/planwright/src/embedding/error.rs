//! Why something did not come about that a program asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use planwright_core::Diagnostics;
use planwright_mcp::{ConfigError, ServerFailure};

/// Why tools could not be opened, or a plan not be run.
///
/// A failure of a tool is none of these: it stands in the [summary](crate::RunSummary) of the run.
///
/// Its [`Debug`] form is for people, since it is what a `main` prints that gives it back: all findings, or the way out, and what a server wrote that did not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plan is not sound. All findings are here, warnings included; their text is made for models, too.
    #[error("{}", rejection(.0))]
    Rejected(Diagnostics),
    /// A file or folder cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A configuration of servers says nothing about servers.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A server did not start.
    #[error(transparent)]
    Server(#[from] ServerFailure),
    /// Two servers have one name, so that nobody could tell their tools apart.
    #[error("two servers are called `{0}`")]
    SameName(Arc<str>),
    /// The run has ended, so that nothing can be added to it.
    #[error("the run has ended")]
    Ended,
}

impl Error {
    /// The findings about the plan, where it was rejected.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match self {
            Self::Rejected(diagnostics) => Some(diagnostics),
            _ => None,
        }
    }

    /// The way out, where one is known. That of a finding stands with the finding.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Config(error) => Some(&error.help),
            Self::Server(failure) => Some(&failure.help),
            _ => None,
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
            Self::Server(failure) if !failure.stderr.is_empty() => {
                write!(f, "\nIt wrote:\n{}", failure.stderr.trim_end())
            }
            _ => Ok(()),
        }
    }
}

/// The first error, and how many there are.
fn rejection(diagnostics: &Diagnostics) -> String {
    let mut errors = diagnostics.iter().filter(|finding| finding.is_error());
    match (errors.next(), errors.count()) {
        (None, _) => "the plan is not sound".to_owned(),
        (Some(only), 0) => format!("the plan is not sound: {only}"),
        (Some(first), more) => format!("the plan is not sound: {first}; and {more} more"),
    }
}
