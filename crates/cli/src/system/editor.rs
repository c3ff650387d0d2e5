//! The editor of the person at the terminal.

use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll};

use tempfile::NamedTempFile;
use tokio::process::{Child, Command};

use super::environment;
use crate::error::reason;

/// The editor that `VISUAL` or `EDITOR` names.
pub(crate) fn configured() -> Option<String> {
    let mut named = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(environment::variable);
    named.find(|editor| !editor.trim().is_empty())
}

/// An editor with the file that the person changes in it.
#[derive(Debug)]
pub(super) struct OpenEditor {
    /// The command line, as the person configured it.
    name: String,
    child: Child,
    file: NamedTempFile,
}

impl OpenEditor {
    /// Opens `text` in the configured editor. `kind` is the prefix of the file's name.
    ///
    /// # Errors
    /// A message of one clause, if the temporary file cannot be written or the editor cannot be started.
    pub(super) fn open(text: &str, kind: &str, terminal: &File) -> Result<Self, String> {
        let name = configured().unwrap_or_else(|| "vi".to_owned());
        let mut words = name.split_whitespace();
        let program = words.next().unwrap_or("vi");
        let failed = |error: io::Error| format!("`{name}` cannot be run: {}", reason(&error));
        let unwritable =
            |error: io::Error| format!("the temporary file cannot be written: {}", reason(&error));
        let mut file = tempfile::Builder::new()
            .prefix(&format!("{kind}-"))
            .suffix(".json")
            .tempfile()
            .map_err(unwritable)?;
        file.write_all(text.as_bytes()).map_err(unwritable)?;
        file.flush().map_err(unwritable)?;
        let on_terminal = || terminal.try_clone().map(Stdio::from).map_err(failed);
        let child = Command::new(program)
            .args(words)
            .arg(file.path())
            .stdin(on_terminal()?)
            .stdout(on_terminal()?)
            .stderr(on_terminal()?)
            .spawn()
            .map_err(failed)?;
        Ok(Self { name, child, file })
    }

    /// Polls for the end of the editor.
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        pin!(self.child.wait()).poll(context)
    }

    /// Terminates the editor by a signal that lets it restore the terminal, and removes its file.
    pub(super) fn end(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            use nix::sys::signal::{Signal, kill};
            use nix::unistd::Pid;
            // An editor that has ended meanwhile gets no signal.
            let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
        // A file that cannot be removed stays in the folder of temporary files.
        let _ = std::fs::remove_file(self.file.path());
    }

    /// Returns the edited text, after the editor has ended.
    ///
    /// # Errors
    /// A message of one clause, if the editor failed or the file cannot be read.
    pub(super) fn text(&self, ended: io::Result<ExitStatus>) -> Result<String, String> {
        let name = &self.name;
        let failed = |error: io::Error| format!("`{name}` cannot be run: {}", reason(&error));
        let status = ended.map_err(failed)?;
        if !status.success() {
            return Err(format!("`{name}` ended with {status}"));
        }
        std::fs::read_to_string(self.file.path())
            .map_err(|error| format!("the edited text cannot be read: {}", reason(&error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_no_error_of_the_editor() {
        let terminal = tempfile::tempfile().unwrap();
        let error = OpenEditor::open("{}", "missing/arguments", &terminal).unwrap_err();
        assert!(
            error.starts_with("the temporary file cannot be written: "),
            "{error}"
        );
    }
}
