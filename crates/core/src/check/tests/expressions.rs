//! The expression pass, and types of expressions in arguments. The cases are in `expressions.txt`.

use super::fixture::CheckFixture;

const TOOLS: &str = r#"{
    "t": {"out": {"type": "object", "additionalProperties": false, "properties": {
        "name": {"type": "string"}, "count": {"type": "integer"}, "ratio": {"type": "number"}, "flag": {"type": "boolean"},
        "nothing": {"type": "null"}, "either": {"type": ["string", "integer"]}, "maybe": {"type": ["string", "null"]},
        "kind": {"enum": ["a", "b"]}, "tags": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "lists": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "nested": {"type": "object", "additionalProperties": false, "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}}}},
    "inbox": {"out": {"type": "object", "additionalProperties": false, "properties": {
        "messages": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {
            "sender": {"type": "string"}, "subject": {"type": "string"}, "unread": {"type": "boolean"}, "size": {"type": "integer"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "from": {"type": "object", "additionalProperties": false, "properties": {"name": {"type": "string"}}}}}}}}},
    "wrapped": {"out": {"type": "object", "required": ["result"], "properties": {
        "result": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}}},
    "open": {"out": {"type": "object", "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"state": {"type": "string"}}}}}}},
    "any": {},
    "e": {},
    "integer": {"in": {"properties": {"v": {"type": "integer"}}}}, "string": {"in": {"properties": {"v": {"type": "string"}}}},
    "array": {"in": {"properties": {"v": {"type": "array"}}}}, "object": {"in": {"properties": {"v": {"type": "object"}}}},
    "boolean": {"in": {"properties": {"v": {"type": "boolean"}}}}
}"#;

/// Returns the diagnostics of a plan with steps for all tools and `step`, without their places.
fn diagnostics(step: &str) -> Vec<String> {
    let fixture = CheckFixture::with_tools(TOOLS);
    let calls = ["t", "inbox", "wrapped", "open", "any"]
        .map(|tool| format!(r#"{{"id": "{tool}", "tool": "{tool}"}}, "#))
        .concat();
    let text = format!(
        r#"{{"variables": {{"list": [{{"name": "ann"}}], "limit": null, "options": null, "names": ["ann"]}}, "steps": [{calls}{step}]}}"#
    );
    let (_, found) = fixture.check(&text);
    let shown = found.iter().filter(|one| one.code.as_str() != "PW0801");
    shown
        .map(|one| {
            let mark = if one.is_error() { "" } else { "?" };
            let help = one.help.iter().map(|help| format!(" ({help})"));
            let help: String = help.collect();
            format!("{mark}{}: {}{help}", one.code.as_str(), one.message)
        })
        .collect()
}

#[test]
fn expressions_in_arguments() {
    let cases = include_str!("expressions.txt");
    let mut found = String::new();
    let lines = cases.lines().filter(|line| !line.starts_with("  "));
    for line in lines {
        found.push_str(line);
        found.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (tool, expression) = match line.strip_prefix('@') {
            Some(typed) => typed.split_once(' ').expect("a type and an expression"),
            None => ("e", line),
        };
        let list = r#""for_each": [[{"sender": "ann"}]], "#;
        let list = if expression.contains("item.") {
            list
        } else {
            ""
        };
        let argument = crate::Value::text(expression).to_json();
        let step = format!(r#"{{"id": "s", {list}"tool": "{tool}", "args": {{"v": {argument}}}}}"#);
        for diagnostic in diagnostics(&step) {
            found.extend(["  ", &diagnostic.replace(expression, "…"), "\n"]);
        }
    }
    if let Ok(path) = std::env::var("UPDATE_EXPRESSIONS") {
        std::fs::write(path, &found).unwrap();
    }
    for (found, expected) in found.lines().zip(cases.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), cases.lines().count());
}
