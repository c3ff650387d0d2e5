//! The expression pass, and types of expressions in arguments. The cases are in `cases.txt`.

use super::fixture::CheckFixture;

const TOOLS: &str = r##"{
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
    "tree": {"out": {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "additionalProperties": false, "properties": {
        "name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}}},
    "any": {},
    "texts": {"in": {"properties": {"v": {"type": "array", "items": {"type": "string"}}}}},
    "e": {},
    "integer": {"in": {"properties": {"v": {"type": "integer"}}}}, "string": {"in": {"properties": {"v": {"type": "string"}}}},
    "array": {"in": {"properties": {"v": {"type": "array"}}}}, "object": {"in": {"properties": {"v": {"type": "object"}}}},
    "boolean": {"in": {"properties": {"v": {"type": "boolean"}}}}
}"##;

/// Returns the diagnostics of a plan with steps for all tools and `step`, without their places.
fn diagnostics(step: &str) -> Vec<String> {
    let fixture = CheckFixture::with_tools(TOOLS);
    let calls = ["t", "inbox", "wrapped", "open", "tree", "any"]
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
    let cases = include_str!("cases.txt");
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
    assert_eq!(found, cases);
}

#[test]
fn conditions() {
    let check = |step: &str, expected: &[&str]| {
        let step = format!(r#"{{"id": "s", "tool": "e", {step}}}"#);
        assert_eq!(diagnostics(&step), expected, "{step}");
    };
    check(r#""when": "${t.flag}""#, &[]);
    check(r#""when": "${any.x}""#, &[]);
    check(r#""when": "${size(t.tags) > 0}""#, &[]);
    check(r#""when": "${t.flag ? t.name : true}""#, &[]);
    check(
        r#""when": "${open.more}""#,
        &[
            "?PW0406: `${open.more}` reads the field `more` in the output of `open`, which the schema does not list (the only field is `rows`)",
        ],
    );
    check(
        r#""when": "${inbox.messages}""#,
        &[
            "PW0504: `when` needs true or false, but `${inbox.messages}` gives a list of objects (write `${size(inbox.messages) > 0}`)",
        ],
    );
    check(
        r#""when": "${inbox.messages.filter(m, m.unread)}""#,
        &[
            "PW0504: `when` needs true or false, but `${inbox.messages.filter(m, m.unread)}` gives a list of objects (write `${size(inbox.messages.filter(m, m.unread)) > 0}`)",
        ],
    );
    check(
        r#""when": "${t.name}""#,
        &[
            "PW0504: `when` needs true or false, but `${t.name}` gives text (compare it: `${t.name != ''}` is true if the text is not empty)",
        ],
    );
    check(
        r#""when": "is ${t.name}""#,
        &["PW0504: `when` needs true or false, but it is text"],
    );
    check(
        r#""when": "${t.count - 1}""#,
        &[
            "PW0504: `when` needs true or false, but `${t.count - 1}` gives an integer (compare it: `${t.count - 1 > 0}` or `${t.count - 1 != 0}`)",
        ],
    );
    check(
        r#""until": "${t.tags}""#,
        &[
            "PW0504: `until` needs true or false, but `${t.tags}` gives a list of texts (write `${size(t.tags) > 0}`)",
        ],
    );
    check(r#""until": "${s.done}""#, &[]);
    check(r#""until": "${size(t.tags) > index}""#, &[]);
}

#[test]
fn types_go_through_steps() {
    let steps = r#"{"id": "a", "value": {"names": "${inbox.messages.map(m, m.sender)}", "first": "${inbox.messages[0].size + 1}"}},
        {"id": "s", "tool": "integer", "args": {"v": "${a.names}"}},
        {"id": "u", "tool": "integer", "args": {"v": "${a.first}"}},
        {"id": "v", "tool": "e", "for_each": "${inbox.messages.filter(m, m.unread)}", "args": {"v": "${item.sendr}"}},
        {"id": "w", "tool": "e", "args": {"v": "is ${a.names.map(n, n.size)}"}},
        {"id": "x", "tool": "e", "for_each": "${size(inbox.messages)}"}"#;
    let expected = [
        "PW0504: the argument `v` of the tool `integer` takes an integer, but `${a.names}` gives a list of texts (the field `first` of `a` fits)",
        "PW0402: `${item.sendr}` leads nowhere: there is no field `sendr` in `item` (did you mean `sender`?)",
        "PW0402: `${a.names.map(n, n.size)}` leads nowhere: there is no field `size` in an item of `a.names` (it is text; `size(…)` counts its characters)",
        "PW0504: `for_each` of `x` goes over a list, not over an integer",
    ];
    assert_eq!(diagnostics(steps), expected);
}

#[test]
fn types_of_items_beside_their_outputs() {
    let steps = r#"{"id": "p", "tool": "t", "for_each": "${inbox.messages}", "with_item": true},
        {"id": "a", "tool": "integer", "args": {"v": "${p[0].item.subject}"}},
        {"id": "b", "tool": "integer", "args": {"v": "${p[0].output.count}"}},
        {"id": "c", "tool": "integer", "args": {"v": "${p[0].count}"}},
        {"id": "d", "tool": "e", "args": {"v": "${p.map(x, x.item.subjct)}"}}"#;
    let expected = [
        "PW0504: the argument `v` of the tool `integer` takes an integer, but `${p[0].item.subject}` gives text (the field `size` of the same object fits)",
        "PW0402: `${p[0].count}` leads nowhere: there is no field `count` in `[0]` in the output of `p` (the fields are `item`, `output`)",
        "PW0402: `${p.map(x, x.item.subjct)}` leads nowhere: there is no field `subjct` in `item` in an item of `p` (did you mean `subject`?)",
    ];
    assert_eq!(diagnostics(steps), expected);
}

#[test]
fn types_go_through_inner_plans() {
    let steps = r#"{"id": "p", "plan": {"steps": [{"id": "i", "value": "abc"}, {"id": "j", "tool": "t"}], "output": {"n": "${i}", "tags": "${j.tags}"}}},
        {"id": "q", "plan": {"steps": [{"id": "i", "tool": "t"}, {"id": "j", "value": 1}]}},
        {"id": "r", "plan": {"inputs": {"a": {"type": "string"}}, "steps": [{"id": "i", "value": "${inputs.a}"}], "output": ["i"]}, "args": {"a": "x"}},
        {"id": "a", "tool": "integer", "args": {"v": "${p.n}"}},
        {"id": "b", "tool": "integer", "args": {"v": "${p.m}"}},
        {"id": "c", "tool": "integer", "args": {"v": "${p.tags}"}},
        {"id": "d", "tool": "string", "args": {"v": "${q.j}"}},
        {"id": "f", "tool": "string", "args": {"v": "${q.i.nam}"}},
        {"id": "g", "tool": "integer", "args": {"v": "${r.i}"}},
        {"id": "h", "tool": "string", "args": {"v": "${r.i}"}}"#;
    let expected = [
        "PW0504: the argument `v` of the tool `integer` takes an integer, but `${p.n}` gives `\"abc\"`",
        "PW0402: `${p.m}` leads nowhere: there is no field `m` in the output of `p` (the fields are `n`, `tags`)",
        "PW0504: the argument `v` of the tool `integer` takes an integer, but `${p.tags}` gives a list of texts",
        "PW0504: the argument `v` of the tool `string` takes text, but `${q.j}` gives `1` (write `${string(q.j)}`)",
        "PW0402: `${q.i.nam}` leads nowhere: there is no field `nam` in `i` in the output of `q` (did you mean `name`?)",
        "PW0504: the argument `v` of the tool `integer` takes an integer, but `${r.i}` gives text",
    ];
    assert_eq!(diagnostics(steps), expected);
}

#[test]
fn failed_steps_without_output() {
    let step =
        r#"{"id": "s", "tool": "t", "on_error": {"v": "${s.name - 1}", "w": "${t.name - 1}"}}"#;
    let expected = [
        "PW0509: `${t.name - 1}` cannot be computed: `-` cannot combine text and `1` (`int(…)` and `double(…)` convert texts to numbers, `timestamp(…)` converts a date to a time)",
    ];
    assert_eq!(diagnostics(step), expected);
}
