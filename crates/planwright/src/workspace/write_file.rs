//! The tool `write_file`.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use planwright_core::Value;
use planwright_engine::ToolError;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::confine::{Folder, InnerPath, failure, from_system, not_a_file, stopped};
use super::tool::{ToolEffect, WorkspaceTool, arguments};

pub(super) const TOOL: WorkspaceTool = WorkspaceTool {
    name: "write_file",
    title: "Write a file",
    description: "Writes a text file as a whole, in one piece: a reader sees the old text or the new one, never \
        a part. Missing folders are created.",
    effect: ToolEffect::Writes,
    input,
    output,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
    #[serde(default = "yes")]
    overwrite: bool,
}

fn yes() -> bool {
    true
}

fn input() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the workspace."},
            "content": {"type": "string", "description": "The whole text."},
            "overwrite": {
                "type": "boolean", "default": true,
                "description": "Whether an existing file may be replaced.",
            },
        },
        "required": ["path", "content"],
        "additionalProperties": false,
    })
}

fn output() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "bytes": {"type": "integer", "minimum": 0, "description": "How many were written."},
            "created": {"type": "boolean", "description": "Whether there was no such file before."},
        },
        "required": ["path", "bytes", "created"],
        "additionalProperties": false,
    })
}

fn run(folder: &Folder, args: &Value, stop: &CancellationToken) -> Result<Value, ToolError> {
    let arguments: Arguments = arguments(args)?;
    let path = folder.locate(&arguments.path)?;
    let Some((parent, name)) = path.split() else {
        return Err(not_a_file(&path));
    };
    refuse_repository(&path)?;
    let parent = folder.create_folder(&parent)?;
    let old = permissions_of(&parent, name, &path)?;
    if old.is_some() && !arguments.overwrite {
        return Err(is_there(&path));
    }
    let created = old.is_none();

    let explain = |error: io::Error| from_system(&path, &error);
    remove_abandoned(&parent);
    let mut draft = Draft::create(&parent).map_err(explain)?;
    draft
        .fill(arguments.content.as_bytes(), old)
        .map_err(explain)?;
    if stop.is_cancelled() {
        return Err(stopped());
    }
    if arguments.overwrite {
        draft.replace(name).map_err(explain)?;
    } else {
        draft.publish(name).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => is_there(&path),
            _ => explain(error),
        })?;
    }
    Ok(Value::object([
        ("path", Value::from(path.to_string())),
        ("bytes", Value::from(arguments.content.len() as u64)),
        ("created", Value::from(created)),
    ]))
}

/// Refuses paths inside of a repository's own folder: a file there, such as a hook, can run programs.
fn refuse_repository(path: &InnerPath) -> Result<(), ToolError> {
    if path.names().any(|name| name.eq_ignore_ascii_case(".git")) {
        let message = format!("`{path}` belongs to the repository itself");
        return Err(failure("denied", message));
    }
    Ok(())
}

/// Returns the permissions of the existing file, if any.
fn permissions_of(
    parent: &Dir,
    name: &OsStr,
    path: &InnerPath,
) -> Result<Option<Permissions>, ToolError> {
    match parent.symlink_metadata(name) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.permissions())),
        Ok(metadata) if metadata.is_symlink() => {
            let message = format!("`{path}` is a link: name the file that it leads to");
            Err(failure("is_a_link", message))
        }
        Ok(_) => Err(not_a_file(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(from_system(path, &error)),
    }
}

fn is_there(path: &InnerPath) -> ToolError {
    failure("exists", format!("`{path}` already exists"))
}

/// The prefix of the names of drafts.
const DRAFT_START: &str = ".planwright-";
const DRAFT_END: &str = ".draft";

/// Returns true if the name is that of a temporary file, which is still being written.
pub(super) fn is_draft(name: &str) -> bool {
    let numbers = name
        .strip_prefix(DRAFT_START)
        .and_then(|rest| rest.strip_suffix(DRAFT_END)?.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, count)| is_number(process) && is_number(count))
}

/// Removes the drafts in a folder whose processes were killed, which free locks show. Drafts that cannot be listed, locked or removed stay,
/// because they do not affect the new file.
fn remove_abandoned(parent: &Dir) {
    for entry in parent.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file
            && name.to_str().is_some_and(is_draft)
            && let Ok(file) = parent.open(&name)
            && file.into_std().try_lock().is_ok()
        {
            // Another process may have removed it as well.
            let _ = parent.remove_file(&name);
        }
    }
}

/// A file without its name yet. It disappears unless it gets one.
struct Draft<'a> {
    parent: &'a Dir,
    name: String,
    file: File,
    /// Holds the lock that tells other processes that the draft is in use.
    _lock: std::fs::File,
}

impl<'a> Draft<'a> {
    fn create(parent: &'a Dir) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{DRAFT_START}{}-{count}{DRAFT_END}", std::process::id());
            match parent.open_with(&name, &options) {
                Ok(file) => {
                    let lock = file.try_clone()?.into_std();
                    // If files cannot be locked, no draft counts as abandoned.
                    let _ = lock.lock();
                    // Another process may have removed the draft as abandoned before it was locked.
                    if parent.exists(&name) {
                        return Ok(Self {
                            parent,
                            name,
                            file,
                            _lock: lock,
                        });
                    }
                }
                // An earlier process with the same id has left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the content to the disk.
    fn fill(&mut self, content: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
        self.file.write_all(content)?;
        if let Some(permissions) = permissions {
            self.file.set_permissions(permissions)?;
        }
        self.file.sync_all()
    }

    /// Replaces any file with the name.
    fn replace(self, name: &OsStr) -> io::Result<()> {
        self.parent.rename(&self.name, self.parent, Path::new(name))
    }

    /// Creates a draft file under an unused name.
    fn publish(self, name: &OsStr) -> io::Result<()> {
        self.parent
            .hard_link(&self.name, self.parent, Path::new(name))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // After a rename, no file has this name. Any other failure cannot be handled here.
        let _ = self.parent.remove_file(&self.name);
    }
}
