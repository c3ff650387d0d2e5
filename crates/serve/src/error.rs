//! Failures of the HTTP server and of the token file, each with the way out.

use std::fmt;

/// The reason why the server cannot start, or a token cannot be read or written: one clause, and hints apart from it.
#[derive(Debug)]
pub struct ServeError {
    message: String,
    hints: Vec<String>,
}

impl ServeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The ways out, one sentence each.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServeError {}
