//! The editor of the person at the terminal.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use super::environment;
use crate::error::reason;
use crate::view::printer::terminal;

/// The editor that `VISUAL` or `EDITOR` names.
pub(crate) fn configured() -> Option<String> {
    let mut named = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(environment::variable);
    named.find(|editor| !editor.trim().is_empty())
}

/// Lets the person change a text, which `kind` names, in their editor.
///
/// # Errors
///
/// One clause, if the editor cannot be run or fails.
pub(crate) fn edit(text: &str, kind: &str) -> Result<String, String> {
    let editor = configured().unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let failed = |error: std::io::Error| format!("`{editor}` cannot be run: {}", reason(&error));
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{kind}-"))
        .suffix(".json")
        .tempfile()
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.flush().map_err(failed)?;
    let on_terminal = |terminal: &File| terminal.try_clone().map(Stdio::from);
    let terminal = terminal().map_err(failed)?;
    let status = Command::new(program)
        .args(words)
        .arg(file.path())
        .stdin(on_terminal(&terminal).map_err(failed)?)
        .stdout(on_terminal(&terminal).map_err(failed)?)
        .stderr(on_terminal(&terminal).map_err(failed)?)
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(format!("`{editor}` ended with {status}"));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}
