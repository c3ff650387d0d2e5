//! Pages that are written by hand leave nothing out: what the sources list, they name.

use std::collections::BTreeSet;
use std::fs;

use planwright_testkit::generated::project_file;
use regex::Regex;

/// Checks that `page` has in backticks all matches of the first group of `pattern` in the part of `source` between two texts.
fn check(page: &str, source: &str, (from, to): (&str, &str), pattern: &str) {
    let read = |path: &str| fs::read_to_string(project_file(path)).unwrap();
    let (source_text, page_text) = (read(source), read(page));
    let (_, part) = source_text.split_once(from).unwrap();
    let (part, _) = part.split_once(to).unwrap();
    let listed: BTreeSet<&str> = Regex::new(pattern)
        .unwrap()
        .captures_iter(part)
        .filter_map(|found| Some(found.get(1)?.as_str()))
        .collect();
    assert!(listed.len() > 1, "{source} lists nothing");
    let missing: Vec<&&str> = listed
        .iter()
        .filter(|name| !page_text.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "{page} does not name {missing:?}");
}

#[test]
fn pages_leave_nothing_out() {
    check(
        "docs/guide/references.md",
        "crates/core/src/expression/function/table.rs",
        ("static FUNCTIONS", "];"),
        r#"row\("([\w.]+)""#,
    );
    check(
        "docs/formats/simulated-tools.md",
        "crates/engine/src/backend/simulated.rs",
        ("const TOOL_FIELDS", "struct ScriptReader"),
        r#""(\w+)""#,
    );
    check(
        "docs/formats/mcp-json.md",
        "crates/mcp/src/config/server_reader.rs",
        ("impl", "/// Escapes a name for a JSON pointer"),
        r#"shift_remove\("(\w+)"\)"#,
    );
    check(
        "docs/formats/mcp-json.md",
        "crates/mcp/src/config/server_reader.rs",
        ("match field.as_str()", "self.unknown.push"),
        r#""(\w+)" =>"#,
    );
    check(
        "docs/formats/mcp-json.md",
        "crates/mcp/src/config/http.rs",
        ("match field.as_str()", "fn read_scopes"),
        r#""(\w+)" =>"#,
    );
    check(
        "docs/formats/approvals.md",
        "crates/cli/src/approval/approver.rs",
        ("let known = ", "];"),
        r#""(\w+)""#,
    );
    check(
        "docs/guide/operating.md",
        "crates/cli/src/error.rs",
        ("fn code", "fn of_run"),
        r"=> (\d+)",
    );
}
