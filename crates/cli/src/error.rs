//! Errors of commands: one clause, and hints apart from it.

use std::fmt;

pub(crate) use planwright::terminal_text::io_reason as reason;
use planwright_serve::ServeError;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Adds a way out.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// A file that cannot be read.
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
        Self {
            message: error.to_string(),
            hints: error.hints().to_vec(),
        }
    }
}

impl From<planwright::Error> for CommandError {
    fn from(error: planwright::Error) -> Self {
        match error {
            planwright::Error::StoredRun(error) => error.into(),
            error => {
                let hint = error.help().map(str::to_owned);
                let explained = Self::new(error.to_string());
                match hint {
                    Some(hint) => explained.hint(hint),
                    None => explained,
                }
            }
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}
