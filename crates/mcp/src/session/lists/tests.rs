//! Tests of lists: invisible characters, tools, and arguments in headers.

use planwright_core::Value;

use super::{limit_warnings, read_tools, remove_hidden_names, strip_hidden_text};

fn check(what: (&str, &str), entries: &str, expected: &str, warned: &[&str]) {
    let mut entries = Value::from_json(entries)
        .unwrap()
        .as_list()
        .unwrap()
        .to_vec();
    let mut warnings = Vec::new();
    remove_hidden_names(&mut entries, what, &"s".into(), &mut warnings);
    strip_hidden_text(&mut entries, what, &"s".into(), &mut warnings);
    assert_eq!(Value::from(entries).to_json(), expected);
    assert_eq!(warnings, warned);
}

#[test]
fn names_with_invisible_characters_are_removed() {
    check(
        ("tool", "name"),
        r#"[{"name": "pay\u200b"}, {"name": "a\nb"}, {"name": "rtl\u202e"}, {"name": "tag\udb40\udc41"}, {"name": "Größe 東京"}]"#,
        r#"[{"name":"Größe 東京"}]"#,
        &[
            r"the server `s` lists the tool `pay\u{200b}`, whose name has invisible characters, so it was omitted",
            r"the server `s` lists the tool `a\nb`, whose name has invisible characters, so it was omitted",
            r"the server `s` lists the tool `rtl\u{202e}`, whose name has invisible characters, so it was omitted",
            r"the server `s` lists the tool `tag\u{e0041}`, whose name has invisible characters, so it was omitted",
        ],
    );
}

#[test]
fn texts_lose_invisible_characters() {
    check(
        ("tool", "name"),
        r#"[{"name": "a", "description": "x\u200by\n", "annotations": {"title": "t\u2066"},
            "inputSchema": {"properties": {"description": {"description": "p\u00ad", "default": "d\u00ad", "enum": ["e\u00ad"]}}}}]"#,
        "[{\"name\":\"a\",\"description\":\"xy\\n\",\"annotations\":{\"title\":\"t\"},\"inputSchema\":{\"properties\":{\"description\":{\"description\":\"p\",\"default\":\"d\u{ad}\",\"enum\":[\"e\u{ad}\"]}}}}]",
        &["the server `s` describes the tool `a` with invisible characters, which were removed"],
    );
    check(
        ("tool", "name"),
        r#"[{"name": "a", "description": "Plain.", "x-own": "\u200b"}]"#,
        "[{\"name\":\"a\",\"description\":\"Plain.\",\"x-own\":\"\u{200b}\"}]",
        &[],
    );
}

#[test]
fn the_name_of_a_resource_is_a_description() {
    check(
        ("resource", "uri"),
        r#"[{"uri": "x:1", "name": "a\u202eb"}, {"uri": "x:\u200b2", "name": "b"}]"#,
        r#"[{"uri":"x:1","name":"a\\u{202e}b"}]"#,
        &[
            r"the server `s` lists the resource `x:\u{200b}2`, whose name has invisible characters, so it was omitted",
            "the server `s` describes the resource `x:1` with invisible characters, which were removed",
        ],
    );
}

/// Compares the number of warnings left of `count`, and the last of them.
#[track_caller]
fn check_lists(count: usize, length: usize, last: &str) {
    let mut warnings: Vec<String> = (1..=count)
        .map(|number| format!("error {number}"))
        .collect();
    limit_warnings("s", &mut warnings);
    assert_eq!(
        (warnings.len(), warnings.last().map_or("", String::as_str)),
        (length, last)
    );
}

#[test]
fn warnings_are_limited() {
    check_lists(0, 0, "");
    check_lists(10, 10, "error 10");
    check_lists(
        11,
        11,
        "the list of tools of the server `s` has 1 more problem",
    );
    check_lists(
        5000,
        11,
        "the list of tools of the server `s` has 4990 more problems",
    );
}

fn check_tools(tools: &str, trusted: bool) -> String {
    let entries = Value::from_json(tools).unwrap();
    let mut warnings = Vec::new();
    let tools = read_tools(
        (&"s".into(), &"".into()),
        trusted,
        entries.as_list().unwrap(),
        &mut warnings,
    );
    let mut lines: Vec<String> = tools
        .iter()
        .map(|tool| {
            let annotations = &tool.annotations;
            let flags: String = [
                (annotations.read_only, 'r'),
                (annotations.destructive, 'd'),
                (annotations.idempotent, 'i'),
                (annotations.open_world, 'o'),
                (annotations.trusted, 't'),
                (tool.approval, 'a'),
            ]
            .iter()
            .filter_map(|(flag, letter)| flag.then_some(letter))
            .collect();
            format!(
                "{} {:?} {:?} {flags} {} {}",
                tool.qualified_name(),
                tool.title,
                tool.description,
                tool.input.as_value(),
                tool.output.as_value()
            )
        })
        .collect();
    lines.extend(warnings);
    lines.join("\n")
}

#[test]
fn reads_tools() {
    insta::assert_snapshot!(check_tools(r#"[
        {"name": "bare"},
        {"name": "full", "title": "Full", "description": "Does.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"},
         "annotations": {"title": "other", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},
        {"name": "kills", "annotations": {"destructiveHint": true}},
        {"name": "looks", "annotations": {"destructiveHint": true, "readOnlyHint": true}},
        {"name": "text", "annotations": {"destructiveHint": "true"}},
        {"name": "null", "annotations": {"destructiveHint": null}},
        {"name": "old", "annotations": {"title": "Old", "readOnlyHint": "yes"}, "icons": [{}]},
        {"name": ""}, {"name": 3}, 7
    ]"#, false), @r#"
    s.bare None None do {} {}
    s.full Some("Full") Some("Does.") ri {"type":"object"} {"type":"array"}
    s.kills None None doa {} {}
    s.looks None None rdoa {} {}
    s.text None None doa {} {}
    s.null None None do {} {}
    s.old Some("Old") None do {} {}
    the server `s` lists a tool without a name, which was left out
    the server `s` lists a tool without a name, which was left out
    the server `s` lists a tool without a name, which was left out
    "#);
    insta::assert_snapshot!(check_tools(r#"[{"name": "x"}]"#, true), @"s.x None None dot {} {}");
    insta::assert_snapshot!(check_tools("[]", true), @"");
    insta::assert_snapshot!(check_tools(r#"[{"name": "x"}, {"name": "x", "title": "X"}]"#, true), @r#"
    s.x None None dot {} {}
    s.x Some("X") None dot {} {}
    the server `s` lists the tool `x` twice: the later one counts
    "#);
}

/// Returns the error of a schema with these `properties`.
fn check_arguments(properties: &str) -> String {
    let schema = format!(r#"{{"type": "object", "properties": {properties}}}"#);
    let schema = Value::from_json(&schema).unwrap();
    super::argument_problem(&schema).unwrap_or_else(|| "sound".to_owned())
}

#[test]
fn finds_invalid_headers() {
    let cases = [
        r#"{"a": {"type": "string"}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"properties": {"c": {"type": "integer", "x-mcp-header": "C"}}}}"#,
        r#"{"a": {"const": {"x-mcp-header": 1}}, "x-mcp-header": {"type": "string"}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": ""}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": "My Region"}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": "Re\tgion"}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": "Région"}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": 7}}"#,
        r#"{"a": {"type": "number", "x-mcp-header": "A"}}"#,
        r#"{"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}"#,
        r#"{"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}"#,
        r#"{"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}}"#,
    ];
    insta::assert_snapshot!(cases.map(check_arguments).join("\n"), @r#"
sound
sound
sound
`` is not the name of a header
`My Region` is not the name of a header
`Re\tgion` is not the name of a header
`Région` is not the name of a header
the name of a header is not text
the header `A` is of an argument that is not a simple value
the header `a` occurs twice
a header is declared at a position that is not an argument
a header is declared at a position that is not an argument
"#);
    let root = Value::from_json(r#"{"x-mcp-header": "A", "type": "object"}"#).unwrap();
    assert!(super::argument_problem(&root).is_some());
}
