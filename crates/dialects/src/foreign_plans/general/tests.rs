//! Tests of plans in words that many systems have in common.

use planwright_core::Value;

use super::translation;

/// Asserts the steps of the translation of `json`, or all of its plan if `expected` has steps inside.
fn check(json: &str, expected: &str) {
    let found = translation(&Value::from_json(json).unwrap()).unwrap();
    let plan = if expected.starts_with('[') {
        found.plan.get("steps").unwrap().clone()
    } else {
        found.plan.clone()
    };
    assert_eq!(plan.to_json(), expected, "{json}");
}

#[test]
fn results_have_names_with_signs() {
    check(
        r##"[{"action": "mail.search", "action_input": {"q": "a"}, "evidence": "#E1"},
            {"action": "mail.send", "action_input": {"to": "#E1[0].from", "body": "see #E1, %E2"}, "evidence": "#E2"}]"##,
        r#"[{"id":"E1","tool":"mail.search","args":{"q":"a"}},{"id":"E2","tool":"mail.send","args":{"to":"${E1[0].from}","body":"see ${E1}, %E2"}}]"#,
    );
}

#[test]
fn marked_names_are_references_wherever_they_are() {
    check(
        r#"[{"tool": "db.query", "args": {"sql": "q"}, "id": "late"}, {"tool": "mail.send", "args": {"body": "a [late] b @late, {late[0].id} [other] x@late.example"}}]"#,
        r#"[{"id":"late","tool":"db.query","args":{"sql":"q"}},{"id":"send","tool":"mail.send","args":{"body":"a ${late} b ${late}, ${late[0].id} [other] x@late.example"}}]"#,
    );
}

#[test]
fn loops_and_conditions_may_be_in_keys() {
    check(
        r#"{"first": {"tool": "db.query", "sql": "q", "name": "kids"},
            "then for each kid in kids": [{"tool": "mail.send", "to": "kid.email"}],
            "if kids is empty": [{"tool": "mail.send", "to": "me"}]}"#,
        r#"[{"id":"kids","tool":"db.query","args":{"sql":"q"}},{"id":"each","tool":"mail.send","args":{"to":"${kid.email}"},"for_each":"${kids}","as":"kid"},{"id":"send_2","tool":"mail.send","args":{"to":"me"},"when":"${kids.size() == 0}"}]"#,
    );
}

#[test]
fn calls_are_texts_tuples_and_keys() {
    check(
        r#"{"a": "fs.read_file path=/x max=3", "b": "fs.write_file path=/y content=\"$a!\""}"#,
        r#"[{"id":"a","tool":"fs.read_file","args":{"path":"/x","max":3}},{"id":"b","tool":"fs.write_file","args":{"path":"/y","content":"${a}!"}}]"#,
    );
    check(
        r#"[["a", "fs.read_file", {"path": "/x"}], ["b", "fs.write_file", {"content": ["concat", "@a", "!"]}, ["a"]]]"#,
        r#"[{"id":"a","tool":"fs.read_file","args":{"path":"/x"}},{"id":"b","tool":"fs.write_file","args":{"content":"${a}!"},"after":["a"]}]"#,
    );
}

#[test]
fn the_end_of_a_plan_is_its_output() {
    check(
        r#"{"inputs": {"x": 1}, "steps": [
            {"step_number": 1, "action": "call_tool", "tool_name": "mcp__shop__refund", "tool_input": {"id": "{{inputs.x}}"}, "save_as": "r"},
            {"step_number": 2, "action": "finish", "output": "{{r}}"}]}"#,
        r#"{"inputs":{"x":{"default":1}},"steps":[{"id":"1","tool":"shop.refund","args":{"id":"${inputs.x}"}}],"output":"${steps['1']}"}"#,
    );
}

#[test]
fn a_part_that_may_change_the_plan_leaves_only_the_calls() {
    let found = |json: &str| translation(&Value::from_json(json).unwrap()).unwrap();
    let plan = r#"{"schedule": "@daily", "tasks": [{"tool": "a.bc", "args": {}}, {"tool": "a.de", "args": {}}]}"#;
    let translation = found(plan);
    assert!(translation.is_complete);
    assert_eq!(translation.left_out, ["schedule"]);
    let plan = plan.replace("schedule", "strategy");
    let translation = found(&plan);
    assert!(!translation.is_complete);
    assert_eq!(translation.left_out, ["strategy"]);
    let steps = translation.plan.get("steps").unwrap();
    assert_eq!(steps.as_list().unwrap().len(), 2);
}

#[test]
fn values_without_calls_are_no_plans() {
    for json in [
        "{}",
        "[]",
        "[1, 2]",
        r#"{"foo": [{"bar": 1}]}"#,
        r#"{"file": "report.md", "site": "a.example"}"#,
        r#"{"name": "x", "version": "1.0"}"#,
    ] {
        let value = Value::from_json(json).unwrap();
        assert_eq!(translation(&value), None, "{json}");
    }
}
