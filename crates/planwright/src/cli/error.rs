//! Why a command could not do its work: one clause, and apart from it the way out.

use std::fmt;

/// Why a command could not do its work.
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

/// The system's reason in our style: without its number, and in lower case.
pub(crate) fn reason(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::InvalidData {
        return "it is not UTF-8 text".to_owned();
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}
