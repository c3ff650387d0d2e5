//! Parameters under other names, and literals in other forms.

use super::fixture::CheckFixture;

const TOOLS: &str = r#"{
    "add": {"in": {"type": "object", "properties": {"repo_path": {"type": "string"}, "files": {"type": "array", "items": {"type": "string"}}, "max_count": {"type": "integer"}}, "required": ["repo_path"]}},
    "convert": {"in": {"type": "object", "properties": {"source_timezone": {"type": "string"}, "target_timezone": {"type": "string"}}, "required": ["source_timezone", "target_timezone"], "additionalProperties": false}},
    "make": {"in": {"type": "object", "properties": {"entities": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "notes": {"type": "array", "items": {"type": "string"}}}}}}}},
    "graph": {"in": {"type": "object", "properties": {}}}
}"#;

#[track_caller]
fn check(tool: &str, args: &str, expected: &[&str]) {
    let text = format!(r#"{{"steps": [{{"id": "s", "tool": "{tool}", "args": {args}}}]}}"#);
    CheckFixture::with_tools(TOOLS).expect(&text, expected);
}

#[test]
fn missing_arguments_under_other_names() {
    check(
        "add",
        r#"{"path": "/r"}"#,
        &[
            "PW0502 at /steps/0/args/path: the tool `add` needs the argument `repo_path`, and has no parameter `path` (write `repo_path` in place of `path`)",
        ],
    );
    check(
        "convert",
        r#"{"from": "UTC", "to": "CET"}"#,
        &[
            "PW0502 at /steps/0/args/from: the tool `convert` needs the argument `source_timezone`, and has no parameter `from` (write `source_timezone` in place of `from`)",
            "PW0502 at /steps/0/args/to: the tool `convert` needs the argument `target_timezone`, and has no parameter `to` (write `target_timezone` in place of `to`)",
        ],
    );
    check(
        "add",
        r#"{"repo_path": "/r", "limit": 3}"#,
        &[
            "?PW0503 at /steps/0/args/limit: the tool `add` lists no parameter `limit` (did you mean `max_count`?)",
        ],
    );
    check(
        "graph",
        r#"{"limit": 3}"#,
        &[
            "?PW0503 at /steps/0/args/limit: the tool `graph` lists no parameter `limit` (it takes no parameters)",
        ],
    );
}

#[test]
fn literals_in_other_forms() {
    check(
        "add",
        r#"{"repo_path": 7, "files": "a", "max_count": "5"}"#,
        &[
            r#"PW0501 at /steps/0/args/repo_path: the argument `repo_path` of the tool `add` does not fit: `7` is a number, not text (write `"7"`)"#,
            r#"PW0501 at /steps/0/args/files: the argument `files` of the tool `add` does not fit: `"a"` is text, not a list (write `["a"]`)"#,
            r#"PW0501 at /steps/0/args/max_count: the argument `max_count` of the tool `add` does not fit: `"5"` is text, not an integer (write `5`)"#,
        ],
    );
    check(
        "make",
        r#"{"entities": {"name": "A", "notes": "tea"}}"#,
        &[
            r#"PW0501 at /steps/0/args/entities: the argument `entities` of the tool `make` does not fit: `{"name":"A","notes":"tea"}` is an object, not a list (write `[{"name":"A","notes":["tea"]}]`)"#,
        ],
    );
    check(
        "add",
        r#"{"repo_path": "/r", "max_count": "five"}"#,
        &[
            r#"PW0501 at /steps/0/args/max_count: the argument `max_count` of the tool `add` does not fit: `"five"` is text, not an integer"#,
        ],
    );
}
