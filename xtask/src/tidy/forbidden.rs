//! Forbidden text: paths of one machine, marks of unfinished work, ignored tests.

use super::Violation;
use super::rust_text::RustText;
use crate::project::ProjectFile;

/// Prefixes of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &["/home/", "/Users/", "/tmp/", "/root/"];
/// Marks of unfinished work in comments.
const MARKS: &[&str] = &["TODO", "FIXME"];
/// Unfinished work and ignored tests in code.
const CODE: &[&str] = &["todo!(", "unimplemented!(", "#[ignore"];
/// Files with quoted content: golden cases, and this one.
const QUOTED: &[&str] = &["/tests/golden/", "xtask/src/tidy/forbidden.rs"];

/// Checks the text of one file.
pub(super) fn check(file: &ProjectFile) -> Vec<Violation> {
    if QUOTED.iter().any(|folder| file.path.contains(folder)) {
        return Vec::new();
    }
    let mut violations = find(
        file,
        &file.text,
        MACHINE_PATHS,
        "names a path of one machine",
    );
    if file.is_rust() {
        let views = RustText::new(&file.text);
        violations.extend(find(file, &views.comments, MARKS, "leaves work undone"));
        violations.extend(find(file, &views.code, CODE, "leaves work undone"));
    }
    violations
}

fn find(file: &ProjectFile, view: &str, words: &[&str], what: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in view.lines().enumerate() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            violations.push(format!("{}:{}: `{word}` {what}", file.path, index + 1));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, expected: &[&str]) {
        let file = ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(check(&file), expected, "violations of {text}");
    }

    #[test]
    fn words_are_found() {
        check_text("README.md", "see docs/codes", &[]);
        check_text(
            "README.md",
            "see\n/tmp/plan.json",
            &["README.md:2: `/tmp/` names a path of one machine"],
        );
        check_text("crates/a/tests/golden/seed.json", "/tmp/plan.json", &[]);
        check_text("a.rs", "let pattern = \"TODO\";", &[]);
        check_text("a.rs", "// TODO", &["a.rs:1: `TODO` leaves work undone"]);
        check_text(
            "a.rs",
            "todo!()\n#[ignore]\nfn a() {}",
            &[
                "a.rs:1: `todo!(` leaves work undone",
                "a.rs:2: `#[ignore` leaves work undone",
            ],
        );
    }
}
