//! Places of diagnostics, safe fixes, which have only one possible meaning, and the advice for parameters under other names, literals in
//! other forms, and texts and numbers in place of the outputs of steps.

use super::fixture::{CheckFixture, plan};
use crate::check::{CheckedPlan, check as check_plan};
use crate::plan::Output;
use crate::{Plan, Step};

const STEPS: &str = r#"{"steps": [
    {"id": "a", "tool": "e"},
    {"id": "b", "tool": "e", "args": {"x": ["${a.v}", {"y": "to ${a} and ${results.a.success}"}], "z": "${c}"}},
    {"id": "c", "tool": "e", "on_error": "${results.c.error}"},
    {"id": "d", "value": {"v": "${b ?? c}"}, "when": "${a.v > b.v}", "for_each": "${b.list}"},
    {"id": "e", "tool": "e", "args": {"v": "${item}"}, "for_each": "${d}"}
], "output": {"v": "${d}"}}"#;

/// Returns the positions stored in the reads of each step, then those of the output.
fn known(plan: &CheckedPlan) -> Vec<Vec<Option<u32>>> {
    let of_step = |step: &Step| {
        let mut known = Vec::new();
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                known.extend(reference.reads().iter().map(|read| read.step_position()));
            });
        });
        known
    };
    let mut all: Vec<_> = plan.plan().steps.iter().map(of_step).collect();
    if let Output::Value(node) = &plan.plan().output {
        let mut known = Vec::new();
        node.each_reference(&mut |reference| {
            known.extend(reference.reads().iter().map(|read| read.step_position()));
        });
        all.push(known);
    }
    all
}

#[track_caller]
fn check(plan: Plan, expected: &[&[Option<u32>]]) -> CheckedPlan {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let (checked, diagnostics) = check_plan(plan, &fixture.context());
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    assert_eq!(known(&checked), expected);
    checked
}

#[test]
fn reads_store_the_positions_of_their_steps() {
    check(
        plan(STEPS),
        &[
            &[],
            &[Some(0), Some(0), Some(0), Some(2)],
            &[Some(2)],
            // Expressions are shared with other plans, so their reads use ids.
            &[Some(1), Some(2), None, None, Some(1)],
            &[None, Some(3)],
            &[Some(3)],
        ],
    );
}

#[test]
fn positions_belong_to_one_plan() {
    let (first, _) = CheckFixture::with_tools(r#"{"e": {}}"#).check(STEPS);
    let mut moved = first.expect("a sound plan").plan().clone();
    moved.steps.reverse();
    let before = plan(STEPS).steps;
    assert_eq!(
        moved.steps.iter().rev().collect::<Vec<_>>(),
        before.iter().collect::<Vec<_>>()
    );
    check(
        moved,
        &[
            &[None, Some(1)],
            &[Some(3), Some(2), None, None, Some(3)],
            &[Some(2)],
            &[Some(4), Some(4), Some(4), Some(2)],
            &[],
            &[Some(1)],
        ],
    );
}

const TOOLS: &str = r#"{
    "w": {"in": {"type": "object", "properties": {"text": {"type": "string"}, "count": {}, "counts": {}}, "additionalProperties": false}},
    "shop.list": {},
    "mail.list": {},
    "mail.send": {}
}"#;

/// Compares the fixes for a plan of this one step.
#[track_caller]
fn check_fix(step: &str, expected: &[&str]) {
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
    check_fix(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a"}}"#,
        &["Key at /steps/0/args/txet: text"],
    );
    check_fix(r#"{"id": "s", "tool": "w", "args": {"coun": 1}}"#, &[]);
    check_fix(r#"{"id": "s", "tool": "w", "args": {"other": 1}}"#, &[]);
}

#[test]
fn a_parameter_that_is_given_already() {
    check_fix(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a", "text": "b"}}"#,
        &[],
    );
    check_fix(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a", "count": 1}}"#,
        &["Key at /steps/0/args/txet: text"],
    );
}

#[test]
fn a_tool_that_only_one_is_near_to() {
    check_fix(
        r#"{"id": "s", "tool": "sned"}"#,
        &["Value at /steps/0/tool: send"],
    );
    check_fix(
        r#"{"id": "s", "tool": "mail.lsit"}"#,
        &["Value at /steps/0/tool: mail.list"],
    );
    check_fix(r#"{"id": "s", "tool": "lsit"}"#, &[]);
}

const PARAMETER_TOOLS: &str = r#"{
    "add": {"in": {"type": "object", "properties": {"repo_path": {"type": "string"}, "files": {"type": "array", "items": {"type": "string"}}, "max_count": {"type": "integer"}}, "required": ["repo_path"]}},
    "convert": {"in": {"type": "object", "properties": {"source_timezone": {"type": "string"}, "target_timezone": {"type": "string"}}, "required": ["source_timezone", "target_timezone"], "additionalProperties": false}},
    "make": {"in": {"type": "object", "properties": {"entities": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "notes": {"type": "array", "items": {"type": "string"}}}}}}}},
    "graph": {"in": {"type": "object", "properties": {}}}
}"#;

#[track_caller]
fn check_call(tool: &str, args: &str, expected: &[&str]) {
    let text = format!(r#"{{"steps": [{{"id": "s", "tool": "{tool}", "args": {args}}}]}}"#);
    CheckFixture::with_tools(PARAMETER_TOOLS).expect(&text, expected);
}

#[test]
fn missing_arguments_under_other_names() {
    check_call(
        "add",
        r#"{"path": "/r"}"#,
        &[
            "PW0502 at /steps/0/args/path: the tool `add` needs the argument `repo_path`, and has no parameter `path` (write `repo_path` in place of `path`)",
        ],
    );
    check_call(
        "convert",
        r#"{"from": "UTC", "to": "CET"}"#,
        &[
            "PW0502 at /steps/0/args/from: the tool `convert` needs the argument `source_timezone`, and has no parameter `from` (write `source_timezone` in place of `from`)",
            "PW0502 at /steps/0/args/to: the tool `convert` needs the argument `target_timezone`, and has no parameter `to` (write `target_timezone` in place of `to`)",
        ],
    );
    check_call(
        "add",
        r#"{"repo_path": "/r", "limit": 3}"#,
        &[
            "?PW0503 at /steps/0/args/limit: the tool `add` lists no parameter `limit` (did you mean `max_count`?)",
        ],
    );
    check_call(
        "graph",
        r#"{"limit": 3}"#,
        &[
            "?PW0503 at /steps/0/args/limit: the tool `graph` lists no parameter `limit` (leave it out, the tool may ignore it; it takes no parameters)",
        ],
    );
}

#[test]
fn literals_in_other_forms() {
    check_call(
        "add",
        r#"{"repo_path": 7, "files": "a", "max_count": "5"}"#,
        &[
            r#"PW0501 at /steps/0/args/repo_path: the argument `repo_path` of the tool `add` does not fit: `7` is a number, not text (write `"7"`)"#,
            r#"PW0501 at /steps/0/args/files: the argument `files` of the tool `add` does not fit: `"a"` is text, not a list (write `["a"]`)"#,
            r#"PW0501 at /steps/0/args/max_count: the argument `max_count` of the tool `add` does not fit: `"5"` is text, not an integer (write `5`)"#,
        ],
    );
    check_call(
        "make",
        r#"{"entities": {"name": "A", "notes": "tea"}}"#,
        &[
            r#"PW0501 at /steps/0/args/entities: the argument `entities` of the tool `make` does not fit: `{"name":"A","notes":"tea"}` is an object, not a list (write `[{"name":"A","notes":["tea"]}]`)"#,
        ],
    );
    check_call(
        "add",
        r#"{"repo_path": "/r", "max_count": "five"}"#,
        &[
            r#"PW0501 at /steps/0/args/max_count: the argument `max_count` of the tool `add` does not fit: `"five"` is text, not an integer"#,
        ],
    );
}

const OUTPUT_TOOLS: &str = r#"{
    "e": {},
    "open": {"out": {"type": "object", "properties": {"temp": {"type": "number"}}, "required": ["temp"]}}
}"#;

#[track_caller]
fn check_output(output: &str, expected: &[&str]) {
    let text = format!(
        r#"{{"steps": [{{"id": "w", "tool": "open"}}, {{"id": "3", "tool": "e", "args": {{"a": "w.txt"}}}}], "output": {output}}}"#
    );
    CheckFixture::with_tools(OUTPUT_TOOLS).expect(&text, expected);
}

#[test]
fn outputs_that_are_only_text() {
    check_output(
        r#"{"a": "${w.temp}", "b": "w", "c": "notes.txt", "d": "w.json"}"#,
        &[],
    );
    check_output(r#"{"a": 3}"#, &[]);
    check_output("7", &[]);
    check_output(
        r#"{"a": "w.temp"}"#,
        &[
            r#"PW0401 at /output/a: `w.temp` is only text here, and not the output of a step (write `${w.temp}`; for the text itself, `${"w.temp"}`)"#,
        ],
    );
    check_output(
        "3",
        &[
            r#"?PW0401 at /output: the output is the number 3, and not that of a step (write `"${steps['3']}"`)"#,
        ],
    );
    check_output(
        "0",
        &[
            r#"?PW0401 at /output: the output is the number 0, and not that of a step (write `"${w}"`)"#,
        ],
    );
}

#[test]
fn arguments_that_are_only_text() {
    let check_argument = |argument: &str, expected: &[&str]| {
        let text = format!(
            r#"{{"steps": [{{"id": "w", "tool": "open"}}, {{"id": "s", "tool": "e", "args": {{"a": "{argument}"}}}}]}}"#
        );
        CheckFixture::with_tools(OUTPUT_TOOLS).expect(&text, expected);
    };
    check_argument(
        "w.other",
        &[
            r#"?PW0401 at /steps/1/args/a: `w.other` is only text here, and not the output of a step (write `${w.other}`; the fields of `w` are not checked, since its tool declares no output schema; for the text itself, `${"w.other"}`)"#,
        ],
    );
    check_argument("w.txt", &[]);
    check_argument("w", &[]);
    check_argument(
        "w.temp",
        &[
            r#"PW0401 at /steps/1/args/a: `w.temp` is only text here, and not the output of a step (write `${w.temp}`; for the text itself, `${"w.temp"}`)"#,
        ],
    );
}
