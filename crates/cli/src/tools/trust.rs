//! Trust in `mcp.json` files, whose servers may be started although no argument names the file. Trust is stored by content.

use planwright::core::text::hex;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{CommandError, reason};
use crate::runs::store::shell_word;
use crate::setup::wrap::edit::{GATEWAY_SERVERS, ObjectText};
use crate::system::environment;
use crate::system::terminal_input::ask_at_terminal;
use crate::tools::server_view::commands;
use crate::view::printer::{Printer, terminal};

const SCHEMA: &str = "planwright.trust/1";

/// The trusted files, with their content when they were trusted.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Trusted {
    schema: String,
    files: Vec<TrustedFile>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TrustedFile {
    path: PathBuf,
    sha256: String,
    /// The digest of each server by name, so that a message can name the changed servers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    servers: BTreeMap<String, String>,
}

impl Trusted {
    /// Returns true if a file is trusted in this state.
    fn has(&self, entry: &TrustedFile) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.path == entry.path && file.sha256 == entry.sha256)
    }

    /// Returns the trusted state of the file, if it has changed since then.
    fn before(&self, entry: &TrustedFile) -> Option<&TrustedFile> {
        self.files.iter().find(|file| file.path == entry.path)
    }
}

/// Returns true if a named file is trusted in its current state. A list that cannot be read is not an error, because the file is used either
/// way.
pub(crate) fn is_trusted(path: &Path, text: &str) -> bool {
    load().is_ok_and(|trusted| trusted.has(&entry(path, text)))
}

/// Returns true if the servers of a found file may be started. Asks on a terminal. If the file is `optional`, one that is not
/// trusted is skipped.
pub(crate) fn allows(
    path: &Path,
    text: &str,
    optional: bool,
    printer: Printer,
) -> Result<bool, CommandError> {
    let entry = entry(path, text);
    let trusted = load()?;
    if trusted.has(&entry) {
        return Ok(true);
    }
    let changes = trusted.before(&entry).map(|before| changes(before, &entry));
    let file = path.display();
    if optional {
        let why = match &changes {
            Some(changes) => format!("has changed since you trusted it ({changes})"),
            None => "is not trusted".to_owned(),
        };
        printer.quote(&format!(
            "note: `{file}` {why}, so its servers are not started (`planwright trust {}`)",
            shell_word(&file)
        ));
        return Ok(false);
    }
    if Printer::is_watched()
        && let Some(yes) = ask(path, text, changes.as_deref(), printer)?
    {
        if yes {
            remember(path, text)?;
            return Ok(true);
        }
        return Err(CommandError::new(format!("`{file}` is not trusted")).hint(
            "name another with `--servers FILE`, or simulate the tools with `--simulate FILE`",
        ));
    }
    Err(distrust(path, text))
}

/// The error about a file that was found but is not trusted, or has changed since it was trusted.
pub(crate) fn distrust(path: &Path, text: &str) -> CommandError {
    let entry = entry(path, text);
    let trusted = load().ok();
    let before = trusted.as_ref().and_then(|trusted| trusted.before(&entry));
    let file = path.display();
    let word = shell_word(&file);
    let error = match before {
        Some(before) => CommandError::new(format!(
            "`{file}` has changed since you trusted it, so its servers are not started"
        ))
        .hint(changes(before, &entry)),
        None => CommandError::new(format!(
            "`{file}` was found but is not trusted, so its servers are not started"
        )),
    };
    error
        .hint(format!("look at it, then run `planwright trust {word}`"))
        .hint(format!("or name it: `--servers {word}`"))
}

/// Describes the changes of a file since it was trusted: ``changed: `a`; new: `b`; gone: `c` ``.
fn changes(before: &TrustedFile, now: &TrustedFile) -> String {
    if before.servers.is_empty() {
        return "the changes are unknown".to_owned();
    }
    let names = |of: &TrustedFile, differs: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
        let servers = of
            .servers
            .iter()
            .filter(|(name, digest)| differs(name, digest));
        servers.map(|(name, _)| format!("`{name}`")).collect()
    };
    let old = |name: &str| before.servers.get(name);
    let parts = [
        (
            "changed",
            names(now, &|name, digest| {
                old(name).is_some_and(|old| old != digest)
            }),
        ),
        ("new", names(now, &|name, _| old(name).is_none())),
        (
            "gone",
            names(before, &|name, _| !now.servers.contains_key(name)),
        ),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| format!("{word}: {}", names.join(", ")))
        .collect();
    if parts.is_empty() {
        return "its servers are the same, only other text has changed".to_owned();
    }
    parts.join("; ")
}

/// Returns the digest of each server in the text of a file; none if it cannot be read.
fn server_digests(text: &str) -> BTreeMap<String, String> {
    let Ok(Some(servers)) = ObjectText::find(text, GATEWAY_SERVERS) else {
        return BTreeMap::new();
    };
    let members = servers.members.into_iter();
    members
        .map(|member| (member.name, digest(&member.value.to_json())))
        .collect()
}

/// Shows the commands of the file and asks; `None` without a terminal.
fn ask(
    path: &Path,
    text: &str,
    changes: Option<&str>,
    printer: Printer,
) -> Result<Option<bool>, CommandError> {
    if terminal().is_err() {
        return Ok(None);
    }
    let file = path.display().to_string();
    printer.quote(&match changes {
        Some(changes) => {
            format!("`{file}` has changed since you trusted it ({changes}); it would start:")
        }
        None => format!("`{file}` was found here; it would start:"),
    });
    for line in commands(text, &file)? {
        printer.quote(&line);
    }
    let answer = ask_at_terminal(|input| input.ask("trust it as it is now? [y/N] "))?;
    let answer = answer.map(|answer| answer.trim().to_lowercase());
    Ok(Some(matches!(answer.as_deref(), Some("y" | "yes"))))
}

fn entry(path: &Path, text: &str) -> TrustedFile {
    TrustedFile {
        path: absolute(path),
        sha256: digest(text),
        servers: server_digests(text),
    }
}

/// SHA-256 of a text, in hexadecimal digits.
pub(crate) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

pub(crate) fn remember(path: &Path, text: &str) -> Result<(), CommandError> {
    let entry = entry(path, text);
    change(|trusted| {
        trusted.files.retain(|file| file.path != entry.path);
        trusted.files.push(entry);
    })
}

fn trust_file() -> Result<PathBuf, CommandError> {
    let folder = environment::settings_folder().ok_or_else(|| {
        CommandError::new("there is no folder for settings").hint("set HOME or XDG_CONFIG_HOME")
    })?;
    Ok(folder.join("trusted.json"))
}

fn load() -> Result<Trusted, CommandError> {
    let path = trust_file()?;
    let nothing = Trusted {
        schema: SCHEMA.to_owned(),
        files: Vec::new(),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(nothing),
        Err(error) => return Err(CommandError::unreadable(&path, &error)),
    };
    let unreadable = |what: String| {
        CommandError::new(format!("`{}` {what}", path.display()))
            .hint("delete it to trust nothing, then trust what you need again")
    };
    let trusted: Trusted = serde_json::from_str(&text)
        .map_err(|error| unreadable(format!("has an invalid format: {error}")))?;
    if trusted.schema != SCHEMA {
        return Err(unreadable(format!(
            "has the unknown version `{}`",
            trusted.schema
        )));
    }
    Ok(trusted)
}

/// Changes the list of trusted files. Processes that change it at the same time do so one after the other.
fn change<T>(change: impl FnOnce(&mut Trusted) -> T) -> Result<T, CommandError> {
    let path = trust_file()?;
    let failed = |error: std::io::Error| {
        CommandError::new(format!(
            "cannot write `{}`: {}",
            path.display(),
            reason(&error)
        ))
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    // The list itself is replaced, so its lock is a file beside it. The lock ends with the handle.
    let lock = fs::File::create(path.with_extension("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut trusted = load()?;
    let result = change(&mut trusted);
    let text = serde_json::to_string_pretty(&trusted)
        .map_err(|error| CommandError::new(format!("cannot write the trusted files: {error}")))?;
    // A temporary file is readable only by its owner, and replaces the old file atomically.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(result)
}

/// Removes a file from the trusted ones. Returns false if it was not trusted.
pub(super) fn forget(path: &Path) -> Result<bool, CommandError> {
    change(|trusted| {
        let absolute = absolute(path);
        let before = trusted.files.len();
        trusted.files.retain(|file| file.path != absolute);
        before != trusted.files.len()
    })
}
