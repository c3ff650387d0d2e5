//! Lengths of the Rust files.

use std::fmt;

use super::Violation;
use crate::project::ProjectFile;

/// The maximum length of a file.
const MAX_LINES: usize = 800;
/// The maximum of the ninetieth percentile. The printed summary lists longer files.
const MAX_PERCENTILE: usize = 450;
/// The maximum median, tests included: files of 100 to 250 lines read best, and code that is always read together belongs in one
/// file.
const MAX_MEDIAN: usize = 220;

/// The lengths of all Rust files, in lines.
#[derive(Debug)]
pub(super) struct Sizes {
    /// The lengths and paths, sorted by length.
    files: Vec<(usize, String)>,
}

/// Measures the Rust files among `files`.
pub(super) fn measure(files: &[ProjectFile]) -> Sizes {
    let mut sizes: Vec<(usize, String)> = files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file.text.lines().count(), file.path.clone()))
        .collect();
    sizes.sort();
    Sizes { files: sizes }
}

impl Sizes {
    /// Returns the violated limits.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut violations: Vec<Violation> = self
            .files
            .iter()
            .filter(|(lines, _)| *lines > MAX_LINES)
            .map(|(lines, path)| format!("{path}: {lines} lines, more than {MAX_LINES}"))
            .collect();
        for (name, percent, limit) in [
            ("median", 50, MAX_MEDIAN),
            ("ninetieth percentile", 90, MAX_PERCENTILE),
        ] {
            let lines = self.percentile(percent);
            if lines > limit {
                violations.push(format!(
                    "the {name} of the file lengths is {lines} lines, more than {limit}"
                ));
            }
        }
        violations
    }

    /// Returns the length that `percent` percent of the files do not exceed.
    fn percentile(&self, percent: usize) -> usize {
        let index = (self.files.len() * percent).div_ceil(100).saturating_sub(1);
        self.files.get(index).map_or(0, |(lines, _)| *lines)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} Rust files, median {} lines, ninetieth percentile {}",
            self.files.len(),
            self.percentile(50),
            self.percentile(90)
        )?;
        for (lines, path) in self
            .files
            .iter()
            .filter(|(lines, _)| *lines > MAX_PERCENTILE)
        {
            write!(f, "\n  long: {path}: {lines} lines")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lengths: &[usize], expected: &[&str]) {
        let files: Vec<ProjectFile> = lengths
            .iter()
            .map(|lines| ProjectFile {
                path: format!("{lines}.rs"),
                text: "x\n".repeat(*lines),
            })
            .collect();
        assert_eq!(measure(&files).violations(), expected, "{lengths:?}");
    }

    #[test]
    fn limits_hold_at_their_edge() {
        check(&[], &[]);
        check(&[220], &[]);
        check(&[10, 10, 10, 10, 10, 10, 10, 10, 10, 800], &[]);
        check(
            &[10, 10, 10, 10, 10, 10, 10, 10, 10, 801],
            &["801.rs: 801 lines, more than 800"],
        );
        check(
            &[221, 451],
            &[
                "the median of the file lengths is 221 lines, more than 220",
                "the ninetieth percentile of the file lengths is 451 lines, more than 450",
            ],
        );
    }
}
