//! Files that are read, and replaced in one go.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::environment;
use super::super::error::{CommandError, reason};
use super::place::Place;

/// The files of ours that belong to one list of servers.
#[derive(Clone, Debug)]
pub(super) struct Ours {
    /// The servers that stand behind the gateway.
    pub(super) servers: PathBuf,
    /// The client's file as it was before anything was moved.
    pub(super) backup: PathBuf,
    /// The rules that were added to the user's settings.
    pub(super) rules: PathBuf,
    /// The user's own settings.
    pub(super) settings: PathBuf,
}

impl Ours {
    /// Returns the files for `place`.
    pub(super) fn of(place: &Place) -> Result<Self, CommandError> {
        let folder = environment::settings_folder().ok_or_else(|| {
            CommandError::new("there is no folder for settings").hint("set HOME or XDG_CONFIG_HOME")
        })?;
        let file = real(&place.file);
        let identity = format!("{}\n{}", file.display(), place.path.join("\n"));
        let digest = Sha256::digest(identity.as_bytes());
        let digest: Vec<String> = digest
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let digest = digest.concat();
        let name = format!("{}-{digest}", place.name);
        let settings = absolute(&folder).join("planwright.toml");
        let folder = absolute(&folder).join("wrapped");
        Ok(Self {
            settings,
            rules: folder.join(format!("{name}.rules.json")),
            servers: folder.join(format!("{name}.json")),
            backup: folder.join(format!("{name}.backup")),
        })
    }
}

/// The text of a file; nothing where there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, CommandError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::unreadable(path, &error)),
    }
}

/// Writes a file that its owner alone may read.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| unwritable(path, &error))?;
    replace(path, text, None)
}

/// Puts `text` in place of what a client's file holds, which must still be `before`. Readers find the one or the other; its permissions
/// stay as they are.
pub(super) fn replace_client(path: &Path, before: &str, text: &str) -> Result<(), CommandError> {
    // Where the file is a link, what it leads to is what changes.
    let path = real(path);
    let permissions =
        fs::metadata(&path).map_err(|error| CommandError::unreadable(&path, &error))?;
    if read(&path)?.as_deref() != Some(before) {
        return Err(CommandError::new(format!(
            "`{}` has just been changed by another program",
            path.display()
        ))
        .hint("try again, best while the client is closed: nothing was changed"));
    }
    replace(&path, text, Some(permissions.permissions()))
}

/// Takes a file away that may not be there.
pub(super) fn remove(path: &Path) -> Result<(), CommandError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(path, &error)),
        _ => Ok(()),
    }
}

/// Returns the lasting path of this program: where it is found by its name, the place of that name, which stays when the program behind it
/// is replaced.
pub(super) fn this_program() -> Result<String, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::new(format!(
            "cannot tell where this program is: {}",
            reason(&error)
        ))
    })?;
    let path = environment::variable("PATH").unwrap_or_default();
    let name = format!("planwright{}", std::env::consts::EXE_SUFFIX);
    let found = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name))
        .find(|candidate| candidate.is_file());
    let found = found.filter(|found| real(found) == real(&program));
    Ok(found.unwrap_or(program).display().to_string())
}

fn replace(
    path: &Path,
    text: &str,
    permissions: Option<fs::Permissions>,
) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // A temporary file is readable by its owner alone.
    let mut fresh =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    fresh.write_all(text.as_bytes()).map_err(failed)?;
    if let Some(permissions) = permissions {
        fresh
            .as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
    }
    fresh.as_file().sync_all().map_err(failed)?;
    fresh.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(format!(
        "cannot write `{}`: {}",
        path.display(),
        reason(error)
    ))
}

/// The path without links, as far as it leads to something.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| absolute(path))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
