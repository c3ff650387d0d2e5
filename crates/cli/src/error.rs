//! Errors of commands: a message of one clause, hints, and the exit status.

use std::fmt;

use planwright::engine::RunStatus;
use planwright_serve::ServeError;

pub(crate) use planwright::terminal_text::io_reason as reason;

/// The party that has to act on an error, which determines the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandErrorKind {
    /// Wrong usage, unreadable input files included.
    Usage,
    /// A failure of the program or its system, such as output that cannot be written.
    Internal,
    /// A signal.
    Interrupted,
}

/// The error that ends a command.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: CommandErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
}

impl CommandError {
    /// An error of wrong usage.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            kind: CommandErrorKind::Usage,
            message: message.into(),
            source: None,
            hints: Vec::new(),
        }
    }

    /// An error for a command that a signal ended.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self {
            kind: CommandErrorKind::Interrupted,
            ..Self::new(message)
        }
    }

    /// Marks the error as a failure of the program or its system, caused by `source`.
    pub(crate) fn internal(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.kind = CommandErrorKind::Internal;
        self.source = Some(source.into());
        self
    }

    /// The exit status for the kind of the error.
    pub(crate) fn exit(&self) -> Exit {
        match self.kind {
            CommandErrorKind::Usage => Exit::Usage,
            CommandErrorKind::Internal => Exit::Internal,
            CommandErrorKind::Interrupted => Exit::Interrupted,
        }
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// An error about an input file that cannot be read.
    pub(crate) fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(format!(
            "cannot read `{}`: {}",
            path.display(),
            reason(error)
        ))
    }
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> Self {
        error
            .hints()
            .iter()
            .fold(Self::new(error.to_string()), |explained, hint| {
                explained.hint(hint)
            })
    }
}

impl From<planwright::Error> for CommandError {
    fn from(error: planwright::Error) -> Self {
        if let planwright::Error::StoredRun(error) = error {
            return error.into();
        }
        let explained = Self::new(error.to_string());
        match error.help() {
            Some(hint) => explained.hint(hint),
            None => explained,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Success,
    /// A step failed.
    Failed,
    /// Wrong usage: an invalid command line, or missing or unreadable input.
    Usage,
    /// The plan was rejected; nothing was called.
    Rejected,
    /// The run waits for approval.
    Waiting,
    /// A signal or a cancellation ended the command.
    Interrupted,
    /// A failure of the program or its system, such as output that cannot be written.
    Internal,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Waiting => 4,
            Self::Internal => 70,
            Self::Interrupted => 130,
        }
    }

    /// Returns the more severe exit status, for a command that does the work of two.
    pub(crate) fn worse(self, other: Self) -> Self {
        if self.code() < other.code() {
            other
        } else {
            self
        }
    }

    pub(crate) fn of_run(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::Success,
            RunStatus::Waiting => Self::Waiting,
            RunStatus::Cancelled => Self::Interrupted,
            RunStatus::Failed => Self::Failed,
        }
    }
}
