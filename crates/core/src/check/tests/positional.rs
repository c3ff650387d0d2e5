//! The positional argument pass.

use super::fixture::{CheckFixture, plan};
use crate::check::name_arguments;

const TOOLS: &str = r##"{
    "search": {"in": {"type": "object", "properties": {
        "limit": {"type": "integer"}, "query": {"type": "string"}, "from": {"type": "string"}
    }, "required": ["query"]}},
    "nested": {"in": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"x": {}, "y": {}}}}}},
    "any": {},
    "none": {"in": {"type": "object", "additionalProperties": false}}
}"##;

/// Returns the named arguments of `step` after the check.
#[track_caller]
fn named(step: &str) -> String {
    let text = format!(r#"{{"steps": [{{"id": "p", "value": "x"}}, {step}]}}"#);
    let (checked, diagnostics) = CheckFixture::with_tools(TOOLS).check(&text);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let step = &checked.plan().steps[1];
    assert!(step.positional.is_empty());
    let crate::plan::NodeKind::Object(fields) = &step.args.kind else {
        panic!("{:?}", step.args);
    };
    let fields = fields.iter().map(|field| match field.value.as_literal() {
        Some(value) => format!("{}={value}", field.key),
        None => format!("{}=?", field.key),
    });
    fields.collect::<Vec<String>>().join(" ")
}

#[track_caller]
fn refused(step: &str, expected: &[&str]) {
    let text = format!(r#"{{"steps": [{step}]}}"#);
    CheckFixture::with_tools(TOOLS).expect(&text, expected);
}

#[test]
fn required_parameters_come_first() {
    let cases = [
        (r#""tool": "search", "positional": ["a"]"#, r#"query="a""#),
        (
            r#""tool": "search", "positional": ["a", 1, "b"]"#,
            r#"query="a" limit=1 from="b""#,
        ),
        (
            r#""tool": "search", "positional": ["${p}"], "args": {"from": "b"}"#,
            r#"query=? from="b""#,
        ),
        (
            r#""tool": "search", "positional": ["a"], "args": {"from": "${p}"}"#,
            r#"query="a" from=?"#,
        ),
        (r#""tool": "nested", "positional": [1, [2]]"#, "x=1 y=[2]"),
    ];
    for (step, wanted) in cases {
        assert_eq!(named(&format!(r#"{{"id": "s", {step}}}"#)), wanted);
    }
}

#[test]
fn unnamed_arguments_are_reported() {
    refused(
        r#"{"id": "s", "tool": "search", "positional": ["a", 1, "b", "c"]}"#,
        &[
            "PW0507 at /steps/0/positional/3: an argument has no name: it is number 4 of those for the tool `search`, which has 3 parameters (the parameters are `from`, `limit`, `query`)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "search", "positional": ["a"], "args": {"query": "b"}}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: its parameter `query` of the tool `search` is given by name as well (give it once)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "any", "positional": ["a"]}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: the tool `any` names no parameters that it could be meant for (write `any(name=value)`, or declare them)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "none", "positional": ["a"]}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: the tool `none` names no parameters that it could be meant for (the tool takes no arguments)",
        ],
    );
    refused(
        r#"{"id": "s", "value": 1, "positional": ["a"]}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: the step `s` calls no tool that could name it (give it a name)",
        ],
    );
}

#[test]
fn other_diagnostics_are_reported_as_well() {
    refused(
        r#"{"id": "s", "tool": "search", "positional": [1, "${gone}"]}"#,
        &[
            "PW0501 at /steps/0/positional/0: the argument `query` of the tool `search` does not fit: `1` is a number, not text",
            "PW0204 at /steps/0/positional/1: `${gone}` refers to the step `gone`, which is not in the plan (the only step is `s`)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "gone", "positional": ["${s}"]}"#,
        &[
            "PW0201 at /steps/0/tool: there is no tool `gone` (did you mean `none`?)",
            "PW0301 at /steps/0/positional/0: the step `s` waits for itself (remove its reference to itself)",
        ],
    );
}

#[test]
fn plans_in_steps_are_named_as_well() {
    let fixture = CheckFixture::with_tools(TOOLS);
    let mut outer = plan(
        r#"{"steps": [{"id": "s", "plan": {"steps": [{"id": "i", "tool": "search", "positional": ["a", 1, 2, 3]}]}}]}"#,
    );
    let diagnostics = name_arguments(&mut outer, &fixture.catalog);
    assert_eq!(diagnostics.len(), 1);
}
