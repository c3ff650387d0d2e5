//! Completeness of the book's table of contents.

use super::Violation;
use crate::project::ProjectFile;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Reports pages of `docs` that the table of contents does not list.
pub(super) fn check(files: &[ProjectFile]) -> Vec<Violation> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        return vec![format!("{SUMMARY}: the book has no table of contents")];
    };
    files
        .iter()
        .filter(|file| file.is_markdown() && file.path != SUMMARY)
        .filter_map(|file| file.path.strip_prefix("docs/"))
        .filter(|page| !summary.text.contains(&format!("]({page})")))
        .map(|page| format!("{SUMMARY}: the page `{page}` is not listed"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_missed() {
        let file = |path: &str, text: &str| ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("README.md", ""),
            file(SUMMARY, "- [A](a.md)\n"),
            file("docs/a.md", ""),
            file("docs/b/c.md", ""),
            file("docs/d.svg", ""),
        ];
        assert_eq!(
            check(&files),
            ["docs/SUMMARY.md: the page `b/c.md` is not listed"]
        );
        assert_eq!(
            check(&files[..1]),
            ["docs/SUMMARY.md: the book has no table of contents"]
        );
    }
}
