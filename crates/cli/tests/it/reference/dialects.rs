//! The page that lists all dialects, generated from their registry.

use std::fmt::Write;

use planwright::dialects::dialects;
use planwright_testkit::generated;

const HEAD: &str = "\
# Dialects at a glance

<!-- `cargo xtask generate` generates this page from the table of dialects. -->

A *dialect* is a format for plans. Planwright recognises the dialect of a plan by its form; `--dialect NAME` sets it.
`planwright convert` writes a plan in every dialect that is not marked as read-only.

";

#[test]
fn generated_page_of_dialects() {
    let mut text = HEAD.to_owned();
    for dialect in dialects() {
        let name = dialect.name();
        let mark = if dialect.is_writable() {
            ""
        } else {
            ", read-only"
        };
        writeln!(
            text,
            "- [`{name}`](../dialects/{name}.md){mark}: {}.",
            dialect.shape()
        )
        .unwrap();
    }
    generated::check("docs/reference/dialects.md", &text);
}
