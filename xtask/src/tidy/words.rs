//! What must not stand in any file: paths of one machine, unfinished work, tests that do not run.

use super::Finding;
use super::rust_text::RustText;
use crate::project::ProjectFile;

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &["/home/", "/Users/", "/tmp/", "/root/"];
/// Marks of unfinished work in comments.
const MARKS: &[&str] = &["TODO", "FIXME"];
/// Unfinished work and idle tests in code.
const CODE: &[&str] = &["todo!(", "unimplemented!(", "#[ignore"];
/// Files whose content is quoted: plans and results as others wrote them, and the lists above.
const QUOTED: &[&str] = &["/tests/golden/", "xtask/src/tidy/words.rs"];

/// Checks the words of one file.
pub(super) fn check(file: &ProjectFile) -> Vec<Finding> {
    if QUOTED.iter().any(|folder| file.path.contains(folder)) {
        return Vec::new();
    }
    let mut findings = find(
        file,
        &file.text,
        MACHINE_PATHS,
        "names a path of one machine",
    );
    if file.is_rust() {
        let views = RustText::new(&file.text);
        findings.extend(find(file, &views.comments, MARKS, "leaves work undone"));
        findings.extend(find(file, &views.code, CODE, "leaves work undone"));
    }
    findings
}

fn find(file: &ProjectFile, view: &str, words: &[&str], what: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in view.lines().enumerate() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            findings.push(format!("{}:{}: `{word}` {what}", file.path, index + 1));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, expected: &[&str]) {
        let file = ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(check(&file), expected, "the findings for {text}");
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
