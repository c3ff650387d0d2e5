//! The problems of an `mcp.json`.

use std::sync::Arc;

use planwright_core::ServerName;

/// The reason why a file cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
#[non_exhaustive]
pub struct ConfigError {
    /// The file.
    pub file: Arc<str>,
    /// The line and column, both from 1, if the error has a position.
    pub place: Option<(usize, usize)>,
    /// The error, as one clause.
    pub message: String,
    /// A hint how to fix it.
    pub help: String,
}

impl ConfigError {
    fn text(&self) -> String {
        match self.place {
            Some((line, column)) => format!("{}:{line}:{column}: {}", self.file, self.message),
            None => format!("{}: {}", self.file, self.message),
        }
    }
}

/// A problem of one server, or an ignored field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
#[non_exhaustive]
pub struct ConfigProblem {
    /// The file.
    pub file: Arc<str>,
    /// The server, if the problem concerns a single one.
    pub server: Option<ServerName>,
    /// The JSON pointer to the field.
    pub pointer: String,
    /// The error, as one clause.
    pub message: String,
    /// A hint how to fix it.
    pub help: String,
}
