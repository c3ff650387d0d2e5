//! Sizes of the source folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Violation;
use crate::project::ProjectFile;

/// The maximum number of entries of a source folder.
const MAX_ENTRIES: usize = 15;

/// The folders below `src` with more entries than the limit, sorted by path.
#[derive(Debug)]
pub(super) struct Folders(Vec<(String, usize)>);

/// Counts the files and folders in each source folder among `files`. `a.rs` beside `a/` is one entry.
pub(super) fn measure(files: &[ProjectFile]) -> Folders {
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let mut path = file.path.as_str();
        while let Some((folder, name)) = path.rsplit_once('/') {
            if folder.split('/').any(|name| name == "src") {
                entries
                    .entry(folder)
                    .or_default()
                    .insert(name.strip_suffix(".rs").unwrap_or(name));
            }
            path = folder;
        }
    }
    let large = entries
        .into_iter()
        .map(|(folder, names)| (folder.to_owned(), names.len()))
        .filter(|(_, entries)| *entries > MAX_ENTRIES);
    Folders(large.collect())
}

impl Folders {
    /// Returns the folders with too many entries.
    pub(super) fn violations(&self) -> Vec<Violation> {
        self.0
            .iter()
            .map(|(folder, entries)| {
                format!("{folder}: {entries} entries, more than {MAX_ENTRIES}")
            })
            .collect()
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} source folders with more than {MAX_ENTRIES} entries",
            self.0.len()
        )?;
        for (folder, entries) in &self.0 {
            write!(f, "\n  large: {folder}: {entries} entries")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folder: &str, entries: usize, listed: bool, expected: &[&str]) {
        let path = |number| format!("{folder}/{number}.rs");
        let names = (1..entries).map(path).chain([
            format!("{folder}/sub/a.rs"),
            format!("{folder}/sub/b.rs"),
            format!("{folder}/sub.rs"),
        ]);
        let files: Vec<ProjectFile> = names
            .map(|path| ProjectFile {
                path,
                text: String::new(),
            })
            .collect();
        let folders = measure(&files);
        assert_eq!(folders.violations(), expected, "{entries} entries");
        assert_eq!(folders.to_string().contains("large"), listed, "{folders}");
    }

    #[test]
    fn limits_hold_at_their_edge() {
        check("crates/cli/src/b", 15, false, &[]);
        check(
            "crates/cli/src/b",
            16,
            true,
            &["crates/cli/src/b: 16 entries, more than 15"],
        );
        check("crates/cli/tests/golden", 99, false, &[]);
    }
}
