//! The tool lists of servers, stored between processes, so that plans are checked without starting the servers.
//!
//! Design: [Stored tool lists decide which servers start](https://github.com/planwright/planwright/blob/main/docs/design/tools.md#stored-tool-lists-decide-which-servers-start).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright_core::{Tool, Value};
use planwright_engine::id::random_id;
use sha2::{Digest, Sha256};

use crate::config::ServerConfig;
use crate::session::lists::ToolListEntries;

/// The format of the files.
const FORMAT: &str = "planwright.tool-list/1";

/// The maximum size of a stored list, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The time for which a list is valid.
const MAX_AGE: Duration = Duration::from_hours(24);

/// The time for which a server that did not start counts as one without tools.
const MAX_FAILURE_AGE: Duration = Duration::from_mins(10);

/// The age at which the list of a server that no command has started since is removed.
const REMOVAL_AGE: Duration = Duration::from_hours(30 * 24);

/// A folder with the tool lists of servers, each in a file that only its owner may read.
///
/// A list is valid for a day, as long as the server's configuration and the files of its command line stay the same.
/// Secrets of the configuration are stored as a part of a salted digest only.
#[derive(Clone, Debug)]
pub struct ToolLists {
    folder: PathBuf,
    clock: fn() -> SystemTime,
    search_path: Option<OsString>,
}

/// The tools of a server as it listed them last.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredTools {
    /// The tools of the catalog. Empty if the server did not start.
    pub tools: Vec<Tool>,
    /// Warnings about the list.
    pub warnings: Vec<String>,
    /// The version of the server, if it states one.
    pub version: Option<Arc<str>>,
    /// The time since the server sent the list.
    pub age: Duration,
    /// True if the server did not start.
    pub is_failed: bool,
}

impl ToolLists {
    /// Creates a storage in `folder`. `clock` returns the current time, `search_path` is the `PATH` for programs.
    pub fn in_folder(
        folder: impl Into<PathBuf>,
        clock: fn() -> SystemTime,
        search_path: Option<OsString>,
    ) -> Self {
        Self {
            folder: folder.into(),
            clock,
            search_path,
        }
    }

    /// Returns the tools that `server` listed last, unless there is no valid list.
    pub fn tools(&self, server: &ServerConfig) -> Option<StoredTools> {
        let text = read(&self.file(server)).ok()?;
        // A file that this program did not write is replaced when the server starts the next time.
        let stored = Value::from_json(&text).ok()?;
        let text = |field: &str| stored.get(field).and_then(Value::as_text);
        let is_same = text("format") == Some(FORMAT)
            && text("fingerprint") == Some(&self.fingerprint(server, text("salt")?));
        if !is_same {
            return None;
        }
        let listed = Duration::from_secs(text("listed_at")?.parse().ok()?);
        // A list from the future is not valid.
        let age = self.now().checked_sub(listed)?;
        let Some(entries) = stored.get("tools").and_then(Value::as_list) else {
            return (age < MAX_FAILURE_AGE).then(|| StoredTools {
                tools: Vec::new(),
                warnings: Vec::new(),
                version: None,
                age,
                is_failed: true,
            });
        };
        if age >= MAX_AGE {
            return None;
        }
        let flag = |field: &str| stored.get(field).and_then(Value::as_bool);
        let listing = ToolListEntries {
            entries: entries.to_vec(),
            is_whole: flag("is_whole")?,
            requires_headers: flag("requires_headers")?,
            note: text("note").map(str::to_owned),
        };
        let list = listing.read(server);
        Some(StoredTools {
            tools: list.tools,
            warnings: list.warnings,
            version: text("version").map(Arc::from),
            age,
            is_failed: false,
        })
    }

    /// Removes the list of `server`.
    pub fn forget(&self, server: &ServerConfig) {
        let path = self.file(server);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove `{}`: {error}", path.display());
        }
    }

    /// Stores the list that `server` has sent. Without it, the next command starts the server again, so a failure is only
    /// logged.
    pub(crate) fn store(
        &self,
        server: &ServerConfig,
        version: Option<&str>,
        listing: &ToolListEntries,
    ) {
        self.write(
            server,
            [
                ("version", version.map_or(Value::Null, Value::from)),
                ("is_whole", Value::from(listing.is_whole)),
                ("requires_headers", Value::from(listing.requires_headers)),
                (
                    "note",
                    listing.note.as_deref().map_or(Value::Null, Value::from),
                ),
                ("tools", Value::list(listing.entries.iter().cloned())),
            ],
        );
    }

    /// Records that `server` did not start. A valid list stays, because it has the tools of the server for its next start.
    pub(crate) fn store_failure(&self, server: &ServerConfig) {
        if self.tools(server).is_none_or(|stored| stored.is_failed) {
            self.write(server, []);
        }
    }

    fn write<const N: usize>(&self, server: &ServerConfig, fields: [(&'static str, Value); N]) {
        let salt = random_id();
        let head = [
            ("format", Value::from(FORMAT)),
            ("fingerprint", Value::from(self.fingerprint(server, &salt))),
            ("salt", Value::Text(salt)),
            ("listed_at", Value::from(self.now().as_secs().to_string())),
        ];
        let text = Value::object(head.into_iter().chain(fields)).to_json();
        let path = self.file(server);
        let written = if text.len() as u64 > MAX_BYTES {
            // An older list must not stay in its place.
            self.forget(server);
            Err(io::Error::other("the list is too long"))
        } else {
            self.create_folder().and_then(|()| replace(&path, &text))
        };
        if let Err(error) = written {
            let name = &server.name;
            tracing::warn!("cannot store the tools of the server `{name}`: {error}");
        }
    }

    /// Creates the folder, and removes the lists of servers that are no longer used.
    fn create_folder(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        let now = (self.clock)();
        for entry in fs::read_dir(&self.folder)? {
            match remove_if_old(&entry?, now) {
                // Another process has removed or replaced the file meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    /// Returns the path of the list of `server`. It depends on the name and the working directory as well as on the origin, because
    /// all three may change the list.
    fn file(&self, server: &ServerConfig) -> PathBuf {
        let here = std::env::current_dir().unwrap_or_default();
        let key = format!("{}\n{}\n{}", server.name, server.origin(), here.display());
        let digest = Sha256::digest(key);
        let start = digest.iter().take(16);
        let name = start.fold(0, |name, byte| name << 8 | u128::from(*byte));
        self.folder.join(format!("{name:032x}.json"))
    }

    fn fingerprint(&self, server: &ServerConfig, salt: &str) -> String {
        server.fingerprint(salt, self.search_path.as_deref())
    }

    fn now(&self) -> Duration {
        let since = (self.clock)().duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}

/// Removes the file of a server that no command has started for long.
fn remove_if_old(file: &fs::DirEntry, now: SystemTime) -> io::Result<()> {
    let age = now.duration_since(file.metadata()?.modified()?);
    if age.is_ok_and(|age| age > REMOVAL_AGE) {
        fs::remove_file(file.path())?;
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Replaces the file atomically. Only its owner may read it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // Another process may store the same list at this moment.
    let new = path.with_extension(format!("{}.new", random_id()));
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.write(true).create_new(true).open(&new)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_a_valid_list() {
        let folder = tempfile::tempdir().unwrap();
        let server = ServerConfig::new("shop", "no-such-program", ["x"]);
        let lists = ToolLists::in_folder(folder.path(), || SystemTime::UNIX_EPOCH + MAX_AGE, None);
        lists.store_failure(&server);
        assert!(lists.tools(&server).unwrap().is_failed);
        let listing = ToolListEntries {
            entries: Vec::new(),
            is_whole: true,
            requires_headers: false,
            note: None,
        };
        lists.store(&server, None, &listing);
        lists.store_failure(&server);
        assert!(!lists.tools(&server).unwrap().is_failed);
        let outdated =
            ToolLists::in_folder(folder.path(), || SystemTime::UNIX_EPOCH + 3 * MAX_AGE, None);
        outdated.store_failure(&server);
        assert!(outdated.tools(&server).unwrap().is_failed);
    }
}
