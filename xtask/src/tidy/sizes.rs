//! Rooms stay small: how long the files are.

use std::fmt;

use super::Finding;
use crate::project::ProjectFile;

/// The longest file that is let through.
const HIGHEST: usize = 800;
/// Files above this are listed, and at most a tenth of all may be.
const HIGH: usize = 400;
/// Half of all files are at most this long.
const USUAL: usize = 150;

/// The lengths of all Rust files, in lines.
#[derive(Debug)]
pub(super) struct Sizes {
    /// Sorted by length.
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
    /// The limits that are broken.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .files
            .iter()
            .filter(|(lines, _)| *lines > HIGHEST)
            .map(|(lines, path)| format!("{path}: {lines} lines, more than {HIGHEST}"))
            .collect();
        for (name, part, limit) in [("median", 50, USUAL), ("ninetieth percentile", 90, HIGH)] {
            let lines = self.percentile(part);
            if lines > limit {
                findings.push(format!(
                    "the {name} of the file lengths is {lines} lines, more than {limit}"
                ));
            }
        }
        findings
    }

    /// The length that `part` of a hundred files do not exceed.
    fn percentile(&self, part: usize) -> usize {
        let index = (self.files.len() * part).div_ceil(100).saturating_sub(1);
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
        for (lines, path) in self.files.iter().filter(|(lines, _)| *lines > HIGH) {
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
        assert_eq!(measure(&files).findings(), expected, "{lengths:?}");
    }

    #[test]
    fn limits_hold_at_their_edge() {
        check(&[], &[]);
        check(&[150], &[]);
        check(&[10, 10, 10, 10, 10, 10, 10, 10, 10, 800], &[]);
        check(
            &[10, 10, 10, 10, 10, 10, 10, 10, 10, 801],
            &["801.rs: 801 lines, more than 800"],
        );
        check(
            &[151, 401],
            &[
                "the median of the file lengths is 151 lines, more than 150",
                "the ninetieth percentile of the file lengths is 401 lines, more than 400",
            ],
        );
    }
}
