//! The index of all diagnostic codes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use planwright::core::{Code, Severity};
use planwright_testkit::generated;

use crate::code_pages::Examples;

const HEAD: &str = "\
# Diagnostic codes

<!-- `cargo xtask generate` generates this page from the table of codes, the examples and the golden cases. -->

Every diagnostic has a code, and every code has a page that explains what happened, why it matters, and how to fix
it. A page shows a plan that gets the diagnostic and a plan that does not, with the tools and the policy that both are
checked against if they matter. A test checks every example.

The examples are in the native dialect unless the page names another one. Very small plans may fit several dialects:
pass `--dialect native` to check them. Tools are written as in a file for `--simulate`.

A plan with an *error* does not run. A *warning* is about a plan that runs, but probably not as intended. A *note* says how a text was read.

| code | severity | title |
| --- | --- | --- |
";

/// The folder of the diagnostics, a line `SEVERITY CODE at …` for each.
const GOLDEN: &str = "crates/cli/tests/golden/findings";

/// The folder of the diagnostics of conversions, a line that begins with the severity for each.
const CONVERSIONS: &str = "crates/dialects/tests/golden/conversions";

#[test]
fn generated_index_of_codes() {
    let severities = severities();
    let mut text = HEAD.to_owned();
    for code in Code::ALL {
        let severities: Vec<String> = severities
            .get(code)
            .unwrap_or_else(|| panic!("no example and no golden case has {code}"))
            .iter()
            .rev()
            .map(|severity| format!("{severity:?}").to_lowercase())
            .collect();
        let severities = severities.join(" or ");
        let title = code.title();
        writeln!(text, "| [{code}]({code}.md) | {severities} | {title} |").unwrap();
    }
    generated::check("docs/codes/README.md", &text);
}

/// Collects the severities of each code from the examples of the pages and the golden cases.
fn severities() -> BTreeMap<Code, BTreeSet<Severity>> {
    let mut severities: BTreeMap<Code, BTreeSet<Severity>> = BTreeMap::new();
    let mut note = |code, severity| severities.entry(code).or_default().insert(severity);
    for code in Code::ALL {
        for example in Examples::of_code(*code).wrong {
            for finding in example.inspect().findings {
                note(finding.code, finding.severity);
            }
        }
    }
    for text in snapshots(CONVERSIONS) {
        for line in text.lines() {
            match line.split(' ').next() {
                Some("Error") => note(Code::Unprintable, Severity::Error),
                Some("Warning") => note(Code::Unprintable, Severity::Warning),
                _ => false,
            };
        }
    }
    for text in snapshots(GOLDEN) {
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').take(2).collect();
            for code in Code::ALL {
                if words == ["error", code.as_str()] {
                    note(*code, Severity::Error);
                } else if words == ["warning", code.as_str()] {
                    note(*code, Severity::Warning);
                } else if words == ["note", code.as_str()] {
                    note(*code, Severity::Note);
                }
            }
        }
    }
    severities
}

fn snapshots(folder: &str) -> impl Iterator<Item = String> {
    fs::read_dir(generated::project_file(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "snap")
        })
        .map(|path| fs::read_to_string(path).unwrap())
}
