//! A recursive walk of a folder, sorted by name, that follows no links; and patterns for paths, such as `src/**/*.{rs,toml}`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry, File};
use planwright_engine::ToolError;
use regex::Regex;
use tokio_util::sync::CancellationToken;

use super::confine::{Folder, InnerPath, failure, from_system, open_file, stopped};
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
    /// The open folders, the innermost last.
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
    /// The remaining entries, the next one last.
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
    /// Fails if `start` cannot be read.
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
                // No caller could name this entry.
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
            match self.visit(name, &entry) {
                Ok(None) => {}
                Ok(Some(file)) => return Ok(Some(file)),
                Err(_) => self.skipped += 1,
            }
        }
        Ok(None)
    }

    /// Returns the file at `entry`, or enters the folder at `entry` and returns `None`.
    fn visit(&mut self, name: String, entry: &DirEntry) -> io::Result<Option<FoundFile>> {
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
    /// Fails if it cannot be opened.
    pub(super) fn open(&self) -> Result<File, ToolError> {
        open_file(&self.dir, Path::new(&self.name), self.path.as_str())
    }
}

/// A pattern for paths with `/` between the names.
///
/// `*` and `?` stand for letters of one name, `**` for any number of folders, `[a-z]` and `[!a-z]` for one letter, `{a,b}`
/// for alternatives, and `\` removes the meaning of the next character. A pattern without `/` is matched against the last name only.
#[derive(Debug)]
pub(super) struct Glob {
    regex: Regex,
    whole_path: bool,
}

impl Glob {
    /// Reads `pattern`.
    ///
    /// # Errors
    ///
    /// Fails if it is malformed.
    pub(super) fn new(pattern: &str) -> Result<Self, ToolError> {
        let malformed = || {
            let message = format!("`{pattern}` is not a pattern for paths");
            failure("invalid_pattern", message)
        };
        let regex = translate(pattern).ok_or_else(malformed)?;
        Ok(Self {
            regex: Regex::new(&regex).map_err(|_| malformed())?,
            whole_path: pattern.contains('/'),
        })
    }

    /// Returns true if the pattern matches `path`.
    pub(super) fn matches(&self, path: &str) -> bool {
        let text = if self.whole_path {
            path
        } else {
            path.rsplit('/').next().unwrap_or(path)
        };
        self.regex.is_match(text)
    }
}

/// Returns the equivalent regular expression; `None` if a bracket is not closed.
fn translate(pattern: &str) -> Option<String> {
    let mut regex = String::from("(?s)^");
    let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
    let mut open_groups = 0_u32;
    let mut at_name = true;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let was_at_name = at_name;
        at_name = letter == '/';
        match letter {
            '*' if rest.starts_with('*') => {
                rest = rest.trim_start_matches('*');
                match rest.strip_prefix('/') {
                    Some(behind) if was_at_name => {
                        regex.push_str("(?:[^/]+/)*");
                        rest = behind;
                        at_name = true;
                    }
                    _ => regex.push_str(".*"),
                }
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => {
                // A bracket that comes first is a letter of the class.
                let first = rest.trim_start_matches(['!', '^']);
                let end = rest.len() - first.len() + 1 + first.get(1..)?.find(']')?;
                regex.push_str(&class(&rest[..end]));
                rest = &rest[end + 1..];
            }
            '{' => {
                open_groups += 1;
                regex.push_str("(?:");
            }
            '}' if open_groups > 0 => {
                open_groups -= 1;
                regex.push(')');
            }
            ',' if open_groups > 0 => regex.push('|'),
            '\\' => {
                let escaped = rest.chars().next()?;
                rest = &rest[escaped.len_utf8()..];
                regex.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            _ => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push('$');
    (open_groups == 0).then_some(regex)
}

/// A class of letters, which never includes the `/` between names.
fn class(inner: &str) -> String {
    let (sign, letters) = match inner.strip_prefix(['!', '^']) {
        Some(letters) => ("^", letters),
        None => ("", inner),
    };
    let letters = letters.replace('\\', r"\\").replace('[', r"\[");
    let letters = letters.replace("&&", r"&\&").replace("~~", r"~\~");
    let letters = match letters.strip_prefix(']') {
        Some(behind) => format!(r"\]{behind}"),
        None => letters,
    };
    format!("[[{sign}{letters}]&&[^/]]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let glob = Glob::new(pattern).unwrap();
        for path in matching {
            assert!(glob.matches(path), "`{pattern}` should match `{path}`");
        }
        for path in others {
            assert!(!glob.matches(path), "`{pattern}` should not match `{path}`");
        }
    }

    #[test]
    fn patterns_match_what_they_say() {
        check(
            "*.rs",
            &["a.rs", "b/c.rs", ".rs"],
            &["a.rst", "rs", "a.rs/b"],
        );
        check(
            "src/*.rs",
            &["src/a.rs"],
            &["a.rs", "src/b/a.rs", "x/src/a.rs"],
        );
        check("src/**/*.rs", &["src/a.rs", "src/b/c/a.rs"], &["a.rs"]);
        check("**/mod.rs", &["mod.rs", "a/b/mod.rs"], &["a/xmod.rs"]);
        check("src/**", &["src/a", "src/b/c"], &["a"]);
        check("*.{rs,toml}", &["a.rs", "Cargo.toml"], &["a.md"]);
        check("{a,b{1,2}}.x", &["a.x", "b1.x", "b2.x"], &["b.x"]);
        check("?.md", &["ä.md"], &["ab.md", ".md"]);
        check("[a-c]1", &["b1"], &["d1", "/1"]);
        check("[!a-c]1", &["d1"], &["b1", "1"]);
        check("[]x]", &["]", "x"], &["y"]);
        check("[[&&]", &["[", "&"], &["x"]);
        check(r"\*.rs", &["*.rs"], &["a.rs"]);
        check("a+b.(c)", &["a+b.(c)"], &["aab.c"]);
        check("/a", &["a"], &["b/a"]);
        check("a,b}", &["a,b}"], &[]);
    }

    #[test]
    fn open_brackets_are_found() {
        for pattern in ["[a", "{a,b", "a\\", "[", "[z-a]", "[]"] {
            let error = Glob::new(pattern).unwrap_err();
            assert_eq!(
                error.message,
                format!("`{pattern}` is not a pattern for paths")
            );
        }
    }
}
