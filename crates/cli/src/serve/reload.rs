//! Changes of the `mcp.json` while the gateway runs: its servers are replaced without a restart. The file is polled, for the reasons that
//! `check --watch` has.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright::core::ServerName;
use planwright::mcp::{ServerChanges, UpstreamState, Upstreams};
use planwright_serve::HealthNote;
use tokio::time::MissedTickBehavior;

use crate::error::CommandError;
use crate::system::text_file::{self, FileState};
use crate::tools::toolbox::{Toolbox, read_servers};
use crate::tools::trust;
use crate::view::printer::Printer;

/// The interval of polling. A changed file is read once it has the same state at two polls, as an editor may write it in several parts.
const INTERVAL: Duration = Duration::from_millis(400);

const UNTRUSTED: &str =
    "the file of the servers has changed and is not trusted: its changes are not loaded";

const UNREADABLE: &str =
    "the file of the servers has changed and cannot be read: its changes are not loaded";

/// The task that follows the changes of an `mcp.json`.
#[derive(Debug)]
pub(crate) struct ServerReload {
    path: PathBuf,
    /// The text whose servers the gateway has.
    loaded: String,
    /// True if a file that is not trusted is not loaded.
    needs_trust: bool,
    /// The servers whose tools are built in.
    local: BTreeSet<ServerName>,
    upstreams: Upstreams,
    note: HealthNote,
    printer: Printer,
}

impl ServerReload {
    /// Returns the task; `None` if no file has the servers. The person who named a file has seen it as it was then. Its changes need not be
    /// trusted only if it is in the user's folder of settings, where no project and no client writes, and was not trusted when the
    /// gateway started: trust lets the gateway accept changed tools.
    pub(crate) fn new(
        toolbox: &Toolbox,
        is_named: bool,
        upstreams: Upstreams,
        printer: Printer,
    ) -> Option<Self> {
        // A pipe is read once.
        let (path, text) = toolbox.source().filter(|(path, _)| path.is_file())?;
        Some(Self {
            path: path.clone(),
            loaded: text.clone(),
            needs_trust: !is_named || toolbox.file().is_trusted || !toolbox.file().is_own,
            local: toolbox.local_servers(),
            upstreams,
            note: HealthNote::default(),
            printer,
        })
    }

    /// Returns the task, which reports changes that are not loaded in `note` as well.
    pub(crate) fn noting(mut self, note: HealthNote) -> Self {
        self.note = note;
        self
    }

    /// Follows the changes until it is dropped.
    pub(crate) async fn run(mut self) -> Infallible {
        let mut clock = tokio::time::interval(INTERVAL);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The file may have changed since the gateway read it, so it is read at once.
        let mut read: Option<Option<FileState>> = None;
        let mut last = text_file::state(&self.path);
        let mut refused: Option<String> = None;
        loop {
            clock.tick().await;
            let now = text_file::state(&self.path);
            let is_stable = now == last;
            last = now;
            // Trust may come later than the change.
            if !is_stable || (read.as_ref() == Some(&last) && refused.is_none()) {
                continue;
            }
            read = Some(last);
            let text = match text_file::read_found(&self.path) {
                Ok(text) => text,
                Err(error) => {
                    self.refuse(&mut refused, "", UNREADABLE, || {
                        CommandError::unreadable(&self.path, &error)
                    });
                    continue;
                }
            };
            if self.loaded == text {
                refused = None;
                self.note.set(None);
                continue;
            }
            if self.needs_trust && !trust::is_trusted(&self.path, &text) {
                self.refuse(&mut refused, &text, UNTRUSTED, || {
                    trust::distrust(&self.path, &text)
                });
                continue;
            }
            match read_servers(&self.path, &text, &self.local, self.printer) {
                Ok(config) => {
                    let changes = self.upstreams.replace(config);
                    refused = None;
                    self.note.set(None);
                    self.report(&self.path, &changes);
                    self.loaded = text;
                }
                Err(error) => self.refuse(&mut refused, &text, UNREADABLE, || error),
            }
        }
    }

    /// Reports once that a text is not loaded.
    fn refuse(
        &self,
        refused: &mut Option<String>,
        text: &str,
        note: &'static str,
        error: impl FnOnce() -> CommandError,
    ) {
        if refused.as_deref() == Some(text) {
            return;
        }
        *refused = Some(text.to_owned());
        self.note.set(Some(note));
        let error = error();
        tracing::warn!(%error, "changes of the servers' file are not loaded");
        self.printer.quote(&format!("warning: {error}"));
        self.printer
            .quote("  the gateway goes on with the servers that it has");
        // A file that was named once cannot be named again.
        let hints = error.hints().iter();
        for hint in hints.filter(|hint| !hint.starts_with("or name it")) {
            self.printer.hint(hint);
        }
    }

    fn report(&self, path: &Path, changes: &ServerChanges) {
        let parts = [
            ("new", &changes.added),
            ("changed", &changes.changed),
            ("gone", &changes.removed),
        ];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts
            .map(|(word, names)| {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                format!("{word}: {}", names.join(", "))
            })
            .collect();
        if !parts.is_empty() {
            let parts = parts.join("; ");
            tracing::info!(changes = %parts, "the servers were replaced");
            self.printer
                .quote(&format!("`{}` was loaded again: {parts}", path.display()));
            let view = self.upstreams.view();
            let is_new =
                |name: &ServerName| changes.added.contains(name) || changes.changed.contains(name);
            for server in view.servers.iter().filter(|server| is_new(&server.name)) {
                // A server that was created just now has failed only if its entry cannot be used.
                if let UpstreamState::Failed(failure) = &server.state {
                    self.printer.quote(&format!("warning: {}", failure.message));
                    self.printer.hint(&failure.help);
                }
            }
        }
    }
}
