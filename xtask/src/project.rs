//! The project: its root, its files and its crates.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::command;

/// A text file of the project. Its path is relative to the root, with `/` as the separator.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl ProjectFile {
    /// Returns true for Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Returns true for Markdown.
    pub(crate) fn is_markdown(&self) -> bool {
        self.extension() == "md"
    }

    /// Returns the part of the path after the last dot.
    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

/// The workspace.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
}

impl Project {
    /// Returns the project that this program was built from.
    pub(crate) fn here() -> Self {
        let own_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: own_folder.parent().unwrap_or(own_folder).to_owned(),
        }
    }

    /// Returns cargo's target folder.
    pub(crate) fn target(&self) -> PathBuf {
        match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => self.root.join(folder),
            None => self.root.join("target"),
        }
    }

    /// Reads all files, sorted by path. Files that are not text, such as images, have an empty one.
    ///
    /// # Errors
    ///
    /// A folder or file cannot be read.
    pub(crate) fn files(&self) -> Result<Vec<ProjectFile>, String> {
        let mut files = Vec::new();
        self.collect(&self.root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn collect(&self, folder: &Path, files: &mut Vec<ProjectFile>) -> Result<(), String> {
        let explain = |error| format!("cannot read `{}`: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(explain)? {
            let entry = entry.map_err(explain)?;
            let name = entry.file_name();
            let kind = entry.file_type().map_err(explain)?;
            if self.is_foreign(folder, &name.to_string_lossy()) {
                continue;
            }
            if kind.is_dir() {
                self.collect(&entry.path(), files)?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).map_err(explain)?;
                files.push(ProjectFile {
                    path: self.relative(&entry.path()),
                    text: String::from_utf8(bytes).unwrap_or_default(),
                });
            }
        }
        Ok(())
    }

    /// Returns true for files and folders that other programs create.
    fn is_foreign(&self, parent: &Path, name: &str) -> bool {
        name == ".git"
            || name == "node_modules"
            || parent == self.root && name.starts_with("target")
    }

    fn relative(&self, path: &Path) -> String {
        let parts: Vec<_> = path
            .strip_prefix(&self.root)
            .unwrap_or(path)
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        parts.join("/")
    }
}

/// Resolves `target` relative to the file `from`.
pub(crate) fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Reads the metadata of our crates, without dependencies.
///
/// # Errors
///
/// Cargo fails.
pub(crate) fn read_metadata(project: &Project) -> Result<Value, String> {
    let line = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
    let text = command::output(command::command(&project.root, &line))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("cannot read the metadata of cargo: {error}"))
}

/// Returns the crates of the selection.
pub(crate) fn packages(metadata: &Value, selection: CrateSelection) -> Vec<&Value> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let is_published = |package: &Value| package["publish"].is_null();
    packages
        .iter()
        .filter(|package| match selection {
            CrateSelection::Published => is_published(package),
            CrateSelection::Unpublished => !is_published(package),
        })
        .collect()
}

/// A selection of crates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CrateSelection {
    Published,
    Unpublished,
}

/// Returns the name of a crate.
pub(crate) fn crate_name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}
