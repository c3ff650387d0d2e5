//! Diagnostic codes: each has a page and a golden case, and each page belongs to a code.

use std::collections::BTreeSet;

use super::Violation;
use crate::project::ProjectFile;

const TABLE: &str = "crates/core/src/diagnostic/code.rs";
const PAGES: &str = "docs/codes/";
const GOLDEN: &str = "/tests/golden/";

/// Compares the table of codes with the pages and the golden cases.
pub(super) fn check(files: &[ProjectFile]) -> Vec<Violation> {
    let Some(table) = files.iter().find(|file| file.path == TABLE) else {
        return vec![format!("{TABLE}: the table of codes is not there")];
    };
    let codes = codes_in(&table.text);
    let mut violations = Vec::new();
    for code in &codes {
        let page = format!("{PAGES}{code}.md");
        if !files.iter().any(|file| file.path == page) {
            violations.push(format!("{page}: `{code}` has no page"));
        }
        if !files.iter().any(|file| is_golden_case(&file.path, code)) {
            violations.push(format!("{TABLE}: `{code}` has no golden case"));
        }
    }
    for file in files {
        let Some(page) = file.path.strip_prefix(PAGES) else {
            continue;
        };
        let code = page.trim_end_matches(".md");
        if code.starts_with("PW") && !codes.contains(code) {
            violations.push(format!("{}: there is no code `{code}`", file.path));
        }
    }
    violations
}

fn codes_in(table: &str) -> BTreeSet<&str> {
    table
        .split('"')
        .filter(|text| {
            text.strip_prefix("PW").is_some_and(|digits| {
                digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit())
            })
        })
        .collect()
}

fn is_golden_case(path: &str, code: &str) -> bool {
    path.starts_with("crates/")
        && path.contains(GOLDEN)
        && path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_paths(paths: &[&str], expected: &[&str]) {
        let table = ProjectFile {
            path: TABLE.to_owned(),
            text: r#"A = "PW0001", "a title"; B = "PW0002", "PW12";"#.to_owned(),
        };
        let others = paths.iter().map(|path| ProjectFile {
            path: (*path).to_owned(),
            text: String::new(),
        });
        let files: Vec<ProjectFile> = std::iter::once(table).chain(others).collect();
        assert_eq!(check(&files), expected, "violations of {paths:?}");
    }

    #[test]
    fn pages_and_cases_are_missed() {
        let both = [
            "docs/codes/PW0001.md",
            "docs/codes/PW0002.md",
            "docs/codes/README.md",
            "crates/core/tests/golden/findings/PW0001-not-json.json",
            "crates/dialects/tests/golden/PW0002.json",
        ];
        check_paths(&both, &[]);
        check_paths(
            &both[..4],
            &["crates/core/src/diagnostic/code.rs: `PW0002` has no golden case"],
        );
        check_paths(&both[1..], &["docs/codes/PW0001.md: `PW0001` has no page"]);
        check_paths(
            &[&both[..], &["docs/codes/PW0003.md"]].concat(),
            &["docs/codes/PW0003.md: there is no code `PW0003`"],
        );
    }
}
