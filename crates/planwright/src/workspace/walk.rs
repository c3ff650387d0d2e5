//! Goes through a folder in the order of the names, without following links.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry, File};
use planwright_engine::ToolError;
use tokio_util::sync::CancellationToken;

use super::confine::{Folder, InnerPath, from_system, open_file, stopped};
use super::write_file::is_draft;

/// Folders with generated files.
const IGNORED: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
    "target",
];
/// The maximum depth of nested folders. Each level holds a folder open.
const MAX_DEPTH: usize = 64;

/// The files that a walk visits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WalkOptions {
    /// Skip the content of further folders.
    pub(super) flat: bool,
    /// Include folders with generated files.
    pub(super) include_ignored: bool,
}

/// Files, in the order of their names.
pub(super) struct Walk<'a> {
    options: WalkOptions,
    stop: &'a CancellationToken,
    /// The folders that we are in, the innermost last.
    levels: Vec<Level>,
    /// The only file, if the walk starts at one.
    single: Option<FoundFile>,
    /// The number of files and folders that could not be read.
    pub(super) skipped: u64,
}

struct Level {
    dir: Arc<Dir>,
    /// With `/` at the end; empty for the workspace itself.
    prefix: String,
    /// The entries that are still to come, the next one last.
    entries: Vec<(String, DirEntry)>,
}

/// A file that a walk found.
pub(super) struct FoundFile {
    dir: Arc<Dir>,
    name: String,
    /// The path within the workspace.
    pub(super) path: String,
    /// The length of the path of the folder that the walk started at.
    start: usize,
}

impl<'a> Walk<'a> {
    /// A walk through all files below `start`, or `start` alone if it is a file.
    ///
    /// # Errors
    ///
    /// Why `start` cannot be read.
    pub(super) fn new(
        folder: &Folder,
        start: &InnerPath,
        options: WalkOptions,
        stop: &'a CancellationToken,
    ) -> Result<Self, ToolError> {
        let mut walk = Self {
            options,
            stop,
            levels: Vec::new(),
            single: None,
            skipped: 0,
        };
        match start.split() {
            Some((parent, name)) if !folder.is_folder(start)? => {
                let path = start.to_string();
                let name = name.to_string_lossy().into_owned();
                walk.single = Some(FoundFile {
                    dir: Arc::new(folder.open_folder(&parent)?),
                    start: path.len() - name.len(),
                    name,
                    path,
                });
            }
            _ => {
                let prefix = if start.is_root() {
                    String::new()
                } else {
                    format!("{start}/")
                };
                let dir = folder.open_folder(start)?;
                walk.enter(dir, prefix)
                    .map_err(|error| from_system(start, &error))?;
            }
        }
        Ok(walk)
    }

    fn enter(&mut self, dir: Dir, prefix: String) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            match entry.file_name().into_string() {
                Ok(name) => entries.push((name, entry)),
                // No caller could ever ask for it.
                Err(_) => self.skipped += 1,
            }
        }
        entries.sort_by(|(a, _), (b, _)| b.cmp(a));
        self.levels.push(Level {
            dir: Arc::new(dir),
            prefix,
            entries,
        });
        Ok(())
    }

    /// The next file.
    ///
    /// # Errors
    ///
    /// If the call was cancelled. Entries that cannot be read are counted and left out.
    pub(super) fn next_file(&mut self) -> Result<Option<FoundFile>, ToolError> {
        if let Some(file) = self.single.take() {
            return Ok(Some(file));
        }
        while let Some(level) = self.levels.last_mut() {
            if self.stop.is_cancelled() {
                return Err(stopped());
            }
            let Some((name, entry)) = level.entries.pop() else {
                self.levels.pop();
                continue;
            };
            match self.look_at(name, &entry) {
                Ok(None) => {}
                Ok(Some(file)) => return Ok(Some(file)),
                Err(_) => self.skipped += 1,
            }
        }
        Ok(None)
    }

    /// The file at `entry`, if it is one; goes into it, if it is a folder.
    fn look_at(&mut self, name: String, entry: &DirEntry) -> io::Result<Option<FoundFile>> {
        let depth = self.levels.len();
        let (Some(level), Some(start)) = (self.levels.last(), self.levels.first()) else {
            return Ok(None);
        };
        let path = format!("{}{name}", level.prefix);
        let kind = entry.file_type()?;
        if kind.is_file() && is_draft(&name) {
            return Ok(None);
        }
        if kind.is_file() {
            return Ok(Some(FoundFile {
                dir: Arc::clone(&level.dir),
                start: start.prefix.len(),
                name,
                path,
            }));
        }
        let is_ignored = !self.options.include_ignored && IGNORED.contains(&name.as_str());
        if kind.is_dir() && !self.options.flat && !is_ignored {
            if depth >= MAX_DEPTH {
                self.skipped += 1;
            } else {
                self.enter(entry.open_dir()?, format!("{path}/"))?;
            }
        }
        Ok(None)
    }
}

impl FoundFile {
    /// The path relative to the start of the walk.
    pub(super) fn inner_path(&self) -> &str {
        &self.path[self.start..]
    }

    /// Returns the number of its bytes.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        Ok(self.dir.symlink_metadata(&self.name)?.len())
    }

    /// Opens it for reading.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(super) fn open(&self) -> Result<File, ToolError> {
        open_file(&self.dir, Path::new(&self.name), self.path.as_str())
    }
}
