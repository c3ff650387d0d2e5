//! Safe fixes, which have only one possible meaning.

use super::fixture::CheckFixture;

const TOOLS: &str = r#"{
    "w": {"in": {"type": "object", "properties": {"text": {"type": "string"}, "count": {}, "counts": {}}, "additionalProperties": false}},
    "shop.list": {},
    "mail.list": {},
    "mail.send": {}
}"#;

/// Compares the fixes for a plan of this one step.
#[track_caller]
fn check(step: &str, expected: &[&str]) {
    let (_, diagnostics) =
        CheckFixture::with_tools(TOOLS).check(&format!(r#"{{"steps": [{step}]}}"#));
    assert!(diagnostics.has_errors(), "in {step}");
    let fixes: Vec<String> = diagnostics
        .iter()
        .filter_map(|diagnostic| diagnostic.fix.as_ref())
        .map(|fix| format!("{:?} at {}: {}", fix.part, fix.pointer, fix.replacement))
        .collect();
    assert_eq!(fixes, expected, "in {step}");
}

#[test]
fn a_parameter_that_only_one_is_near_to() {
    check(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a"}}"#,
        &["Key at /steps/0/args/txet: text"],
    );
    check(r#"{"id": "s", "tool": "w", "args": {"coun": 1}}"#, &[]);
    check(r#"{"id": "s", "tool": "w", "args": {"other": 1}}"#, &[]);
}

#[test]
fn a_parameter_that_is_given_already() {
    check(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a", "text": "b"}}"#,
        &[],
    );
    check(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a", "count": 1}}"#,
        &["Key at /steps/0/args/txet: text"],
    );
}

#[test]
fn a_tool_that_only_one_is_near_to() {
    check(
        r#"{"id": "s", "tool": "sned"}"#,
        &["Value at /steps/0/tool: send"],
    );
    check(
        r#"{"id": "s", "tool": "mail.lsit"}"#,
        &["Value at /steps/0/tool: mail.list"],
    );
    check(r#"{"id": "s", "tool": "lsit"}"#, &[]);
}
