//! Tests that run in Node.js.

use std::path::PathBuf;

use super::tally::Tally;
use crate::command::command;
use crate::project::Project;

/// The files `*.test.mjs` of a folder.
pub(super) struct NodeTests<'a> {
    /// Relative to the root.
    pub(super) folder: &'a str,
    /// The number of files that run at the same time.
    pub(super) concurrency: usize,
    pub(super) variables: &'a [(&'a str, PathBuf)],
}

impl NodeTests<'_> {
    /// Runs the tests, and prints their report if one fails.
    ///
    /// # Errors
    ///
    /// Node.js cannot be started, or breaks off.
    pub(super) fn run(self, project: &Project) -> Result<Tally, String> {
        let folder = project.root.join(self.folder);
        let entries =
            std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut tests: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
            .collect();
        tests.sort();
        let mut node = command(&project.root, &["node", "--test", "--test-reporter=tap"]);
        node.arg(format!("--test-concurrency={}", self.concurrency))
            .args(tests);
        for (name, value) in self.variables {
            node.env(name, value);
        }
        // The output of a failed run has its counts, too.
        let run = node
            .output()
            .map_err(|error| format!("`node` cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&run.stdout);
        if !run.status.success() {
            println!("{text}{}", String::from_utf8_lossy(&run.stderr));
        }
        Tally::of_tap(&text).ok_or_else(|| format!("the tests of `{}` left no counts", self.folder))
    }
}
