//! A folder to which access is confined, and paths within it.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Component, Path, PathBuf};
use std::{fmt, io};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use planwright_core::Value;
use planwright_engine::ToolError;

/// A folder, held open. Everything is resolved relative to this handle.
#[derive(Debug)]
pub(super) struct Folder {
    dir: Dir,
    /// The names by which absolute paths may call the folder.
    names: Vec<PathBuf>,
}

/// A path within the folder: names only, no `..`, not absolute. Empty for the folder itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InnerPath(PathBuf);

impl Folder {
    /// Opens the folder at `path`. This is the only place where a path of the whole machine is used.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self {
            dir,
            names: vec![std::path::absolute(path)?, path.canonicalize()?],
        })
    }

    /// The path that a caller wrote: relative to the folder, or absolute and within it.
    ///
    /// # Errors
    ///
    /// A path that lexically leads out of the folder.
    pub(super) fn locate(&self, text: &str) -> Result<InnerPath, ToolError> {
        let written = Path::new(text);
        let relative = if written.is_absolute() {
            self.names
                .iter()
                .find_map(|name| written.strip_prefix(name).ok())
                .ok_or_else(|| outside(text))?
        } else {
            written
        };
        let mut inner = PathBuf::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => inner.push(name),
                Component::CurDir => {}
                _ => return Err(outside(text)),
            }
        }
        Ok(InnerPath(inner))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened or is not a file.
    pub(super) fn open_file(&self, path: &InnerPath) -> Result<File, ToolError> {
        open_file(&self.dir, path.as_path(), path)
    }

    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened.
    pub(super) fn open_folder(&self, path: &InnerPath) -> Result<Dir, ToolError> {
        self.dir
            .open_dir(path.as_path())
            .map_err(|error| from_system(path, &error))
    }

    /// Opens a folder; creates it and its parents if they are missing.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened.
    pub(super) fn create_folder(&self, path: &InnerPath) -> Result<Dir, ToolError> {
        if !path.is_root() {
            self.dir
                .create_dir_all(path.as_path())
                .map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => {
                        from_system(path, &io::ErrorKind::NotADirectory.into())
                    }
                    _ => from_system(path, &error),
                })?;
        }
        self.open_folder(path)
    }

    /// Returns true if the path leads to a folder.
    ///
    /// # Errors
    ///
    /// Fails if the path leads nowhere, or out of the workspace.
    pub(super) fn is_folder(&self, path: &InnerPath) -> Result<bool, ToolError> {
        self.dir
            .metadata(path.as_path())
            .map(|metadata| metadata.is_dir())
            .map_err(|error| from_system(path, &error))
    }
}

/// Opens the file at `path` below `dir` for reading; messages call it `name`.
///
/// # Errors
///
/// Fails if it cannot be opened or is not a file.
pub(super) fn open_file(
    dir: &Dir,
    path: &Path,
    name: impl fmt::Display + Copy,
) -> Result<File, ToolError> {
    let explain = |error: io::Error| from_system(name, &error);
    // Opening a device can have effects, so its type is checked first.
    if !dir.metadata(path).map_err(explain)?.is_file() {
        return Err(not_a_file(name));
    }
    // A pipe may have replaced the file since then, and opening it would block. So the file is opened without blocking, and checked again.
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    let file = dir.open_with(path, &options).map_err(explain)?;
    if !file.metadata().map_err(explain)?.is_file() {
        return Err(not_a_file(name));
    }
    Ok(file)
}

impl InnerPath {
    /// Returns true if this is the folder itself.
    pub(super) fn is_root(&self) -> bool {
        self.0.as_os_str().is_empty()
    }

    /// The path for the operating system.
    pub(super) fn as_path(&self) -> &Path {
        if self.is_root() {
            Path::new(".")
        } else {
            &self.0
        }
    }

    /// The path's last name and the folder that it is in; `None` for the folder itself.
    pub(super) fn split(&self) -> Option<(Self, &OsStr)> {
        let name = self.0.file_name()?;
        let parent = self.0.parent().unwrap_or(Path::new(""));
        Some((Self(parent.to_owned()), name))
    }

    /// The names that the path is made of.
    pub(super) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.iter()
    }
}

impl fmt::Display for InnerPath {
    /// With `/` between the names, on every system; `.` for the folder itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for (index, name) in self.names().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            f.write_str(&name.to_string_lossy())?;
        }
        Ok(())
    }
}

/// A failure with a `code` that a plan can read.
pub(super) fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError::tool(message, Value::object([("code", Value::from(code))]))
}

/// The path leads out of the folder.
pub(super) fn outside(path: impl Display) -> ToolError {
    failure("outside", format!("`{path}` leads out of the workspace"))
}

/// The path does not lead to a file.
pub(super) fn not_a_file(path: impl Display) -> ToolError {
    failure("not_a_file", format!("`{path}` is not a file"))
}

/// The content of the file is not text.
pub(super) fn not_text(path: impl Display) -> ToolError {
    failure("not_text", format!("`{path}` is not UTF-8 text"))
}

/// The error of a cancelled call.
pub(super) fn stopped() -> ToolError {
    failure("stopped", "the call was cancelled")
}

/// Returns the operating system's error about `path`.
pub(super) fn from_system(path: impl Display, error: &io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::NotFound => failure("not_found", format!("there is no `{path}`")),
        // The resolver, not the operating system, creates the error for an escape.
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
