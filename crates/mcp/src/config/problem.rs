//! What is wrong with an `mcp.json`.

use std::sync::Arc;

/// Why a file says nothing about servers at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
#[non_exhaustive]
pub struct ConfigError {
    /// The file.
    pub file: Arc<str>,
    /// Line and column, both from 1, where the fault has a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// The way out.
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

/// What is wrong with one server of a file, or with one field that was ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
#[non_exhaustive]
pub struct ConfigProblem {
    /// The file.
    pub file: Arc<str>,
    /// The server, where it concerns one.
    pub server: Option<Arc<str>>,
    /// The JSON pointer to the field.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}
