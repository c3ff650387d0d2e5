//! Where the project lies, and which files it is made of.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// A file of the project, by its path from the root, with `/` between the folders.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl ProjectFile {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Whether it is Markdown.
    pub(crate) fn is_markdown(&self) -> bool {
        self.extension() == "md"
    }

    /// What stands behind the last dot of its path.
    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

/// The folder with the workspace's `Cargo.toml`.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
}

impl Project {
    /// The project that this program was built from.
    pub(crate) fn here() -> Self {
        let own_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: own_folder.parent().unwrap_or(own_folder).to_owned(),
        }
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => self.root.join(folder),
            None => self.root.join("target"),
        }
    }

    /// Every text file, sorted by path.
    ///
    /// # Errors
    ///
    /// Which folder or file could not be read.
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
                if let Ok(text) = String::from_utf8(bytes) {
                    let path = self.relative(&entry.path());
                    files.push(ProjectFile { path, text });
                }
            }
        }
        Ok(())
    }

    /// Whether a file or folder was made by other programs.
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
