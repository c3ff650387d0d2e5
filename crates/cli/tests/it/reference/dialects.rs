//! The page about all notations, made of their registry.

use std::fmt::Write;

use planwright::dialects::dialects;
use planwright_testkit::generated;

const HEAD: &str = "\
# Notations at a glance

<!-- `cargo xtask generate` makes this page of the table of dialects. -->

A *dialect* is a notation that plans are written in. It is recognised by its shape; `--dialect NAME` says it. `planwright convert`
writes a plan in all but those that are only read.

";

#[test]
fn generated_page_of_dialects() {
    let mut text = HEAD.to_owned();
    for dialect in dialects() {
        let name = dialect.name();
        let mark = if dialect.is_writable() {
            ""
        } else {
            ", only read"
        };
        writeln!(
            text,
            "- [`{name}`](../notations/{name}.md){mark}: {}.",
            dialect.shape()
        )
        .unwrap();
    }
    generated::check("docs/reference/dialects.md", &text);
}
