//! Errors of the workspace tools.

use std::fmt::Display;
use std::io;

use planwright_core::Value;
use planwright_engine::ToolError;

/// A failure with a `code` that a plan can look at.
pub(super) fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError::tool(message, Value::object([("code", Value::from(code))]))
}

/// The path leads out of the folder.
pub(super) fn outside(path: impl Display) -> ToolError {
    failure("outside", format!("`{path}` leads out of the workspace"))
}

/// The path leads to something that is not a file.
pub(super) fn not_a_file(path: impl Display) -> ToolError {
    failure("not_a_file", format!("`{path}` is not a file"))
}

/// The file holds something that is not text.
pub(super) fn not_text(path: impl Display) -> ToolError {
    failure("not_text", format!("`{path}` is not UTF-8 text"))
}

/// The caller does not wait for the result any more.
pub(super) fn stopped() -> ToolError {
    failure("stopped", "the call was cancelled")
}

/// Returns the operating system's error about `path`.
pub(super) fn from_system(path: impl Display, error: &io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::NotFound => failure("not_found", format!("there is no `{path}`")),
        // The error that stands for an escape is made by the resolver, not by the operating system.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => outside(path),
        io::ErrorKind::PermissionDenied => {
            failure("denied", format!("access to `{path}` is denied"))
        }
        io::ErrorKind::IsADirectory => not_a_file(path),
        io::ErrorKind::NotADirectory => failure(
            "not_a_folder",
            format!("`{path}` has a file where a folder should be"),
        ),
        _ => failure("io", format!("cannot use `{path}`: {error}")),
    }
}
