//! The table of dialects in the README.

use std::fmt::Write as _;
use std::path::Path;

use planwright_dialects::dialects;

const NUMBERS: [&str; 16] = [
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen",
];

#[test]
fn the_readme_lists_the_dialects() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, section) = text.split_once("\n## Dialects\n").unwrap();
    let mut listed = String::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let (name, _) = row.trim_start_matches("| `").split_once('`').unwrap();
        let is_writable = !row.contains("read-only");
        writeln!(listed, "{name} {is_writable}").unwrap();
    }
    let mut known = String::new();
    for dialect in dialects() {
        writeln!(known, "{} {}", dialect.name(), dialect.is_writable()).unwrap();
    }
    assert_eq!(listed, known);
    let writable = dialects()
        .iter()
        .take_while(|one| one.is_writable())
        .count();
    for phrase in [
        format!("any of {} dialects", NUMBERS[dialects().len()]),
        format!("the first {} dialects", NUMBERS[writable]),
    ] {
        assert!(text.contains(&phrase), "the README does not say `{phrase}`");
    }
}
