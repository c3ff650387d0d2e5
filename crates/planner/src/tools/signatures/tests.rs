//! Signatures, details, and listings of tools.

use std::sync::Arc;

use planwright_core::{Annotations, Catalog, Schema, Tool, Value};
use proptest::prelude::*;

use super::{estimate_tokens, listing, look_up_tools, notes, signature};

fn schema(text: &str) -> Schema {
    Schema::from_value(Value::from_json(text).unwrap())
}

fn search() -> Tool {
    Tool {
        description: Some("Find issues, e.g. open ones. Sorted by age.\n\nMore about it.".into()),
        input: schema(
            r#"{"type": "object", "required": ["query"], "properties": {
                "limit": {"type": "integer", "description": "How many.", "minimum": 1},
                "state": {"enum": ["open", "closed"], "default": "open"},
                "query": {"type": "string", "description": "Words to\nlook for"}}}"#,
        ),
        output: schema(
            r##"{"type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/issue"}}},
                "$defs": {"issue": {"type": "object", "required": ["number", "title"], "properties": {"number": {"type": "integer"}, "title": {"type": "string"}}}}}"##,
        ),
        annotations: Annotations {
            read_only: true,
            destructive: false,
            ..Annotations::default()
        },
        ..Tool::new("github", "search_issues")
    }
}

#[test]
fn a_signature_shows_the_parameters() {
    assert_eq!(
        signature(&search()),
        "github.search_issues(query: string, limit?: integer, state?: \"open\"|\"closed\" = \"open\") -> {items: [{number: integer, title: \
         string}]}  -- Find issues, e.g. open ones [read-only]"
    );
    assert_eq!(signature(&Tool::new("a", "b")), "a.b()");
    let asking = Tool {
        approval: true,
        title: Some("Pay a bill".into()),
        ..Tool::new("bank", "pay")
    };
    assert_eq!(signature(&asking), "bank.pay()  -- Pay a bill [asks first]");
}

/// Checks the signature of an optional parameter `p` with this schema.
#[track_caller]
fn check(property: &str, expected: &str) {
    let definitions = r##""$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
        "a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}"##;
    let input = schema(&format!(
        r#"{{"properties": {{"p": {property}}}, {definitions}}}"#
    ));
    let tool = Tool {
        input,
        ..Tool::new("s", "t")
    };
    assert_eq!(signature(&tool), format!("s.t({expected})"), "{property}");
}

#[test]
fn shapes_are_short() {
    check("{}", "p?: any");
    check("true", "p?: any");
    check("false", "p?: never");
    check(
        r#"{"type": "string", "default": "x"}"#,
        r#"p?: string = "x""#,
    );
    check(r#"{"type": ["string", "null"]}"#, "p?: string|null");
    check(r#"{"const": 7}"#, "p?: 7");
    check(
        r#"{"anyOf": [{"type": "null"}, {"type": "integer"}], "default": null}"#,
        "p?: integer",
    );
    check(
        r#"{"oneOf": [{"type": "string"}, {"type": "string"}]}"#,
        "p?: string",
    );
    check(
        r##"{"allOf": [{"$ref": "#/$defs/point"}]}"##,
        "p?: {x: number}",
    );
    check(
        r##"{"$ref": "#/$defs/point", "default": {"x": 1}}"##,
        r#"p?: {x: number} = {"x":1}"#,
    );
    check(r##"{"$ref": "#/$defs/a"}"##, "p?: any");
    check(r#"{"$ref": "https://example.com/schema"}"#, "p?: any");
    check(r#"{"type": "array"}"#, "p?: array");
    check(r#"{"items": {"type": "string"}}"#, "p?: [string]");
    check(
        r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}"#,
        "p?: [string, number]",
    );
    check(r#"{"type": "object"}"#, "p?: object");
    check(
        r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#,
        "p?: {[key]: integer}",
    );
    check(
        r#"{"type": "object", "properties": {"a b": {"type": "boolean"}}}"#,
        r#"p?: {"a b"?: boolean}"#,
    );
    // The depth is reduced until the text fits.
    check(
        r##"{"$ref": "#/$defs/tree"}"##,
        "p?: {children?: [{children?: [object]}]}",
    );
    check(
        r#"{"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "object", "properties": {"d": {}}}}}}}}}"#,
        "p?: {a?: {b?: {c?: object}}}",
    );
    let long = format!(r#"{{"default": "{}"}}"#, "x".repeat(100));
    check(&long, "p?: any");
    let many: Vec<String> = (0..20).map(|index| format!("\"v{index}\"")).collect();
    let shown: Vec<&str> = many.iter().take(16).map(String::as_str).collect();
    check(
        &format!(r#"{{"enum": [{}]}}"#, many.join(",")),
        &format!("p?: {}|…", shown.join("|")),
    );
}

#[test]
fn sentences_are_short() {
    fn check(description: &str, expected: &str) {
        let tool = Tool {
            description: Some(description.into()),
            ..Tool::new("s", "t")
        };
        assert_eq!(
            signature(&tool),
            format!("s.t(){expected}"),
            "{description}"
        );
    }

    check("Reads it.\nAnd more.", "  -- Reads it");
    check("Reads\n  it\n\nAnd more.", "  -- Reads it");
    check("  ", "");
    check("Is it?  Yes.", "  -- Is it?");
    check("Version 1.2 of it. More.", "  -- Version 1.2 of it");
    check("bad\u{1b}[31m\u{0}", "  -- bad[31m");
    check(
        &"many words ".repeat(40),
        &format!("  -- {}many words…", "many words ".repeat(13)),
    );
    check(&"x".repeat(400), &format!("  -- {}…", "x".repeat(157)));
    check(&"é".repeat(400), &format!("  -- {}…", "é".repeat(78)));
}

#[test]
fn details_describe_parameters_and_effects() {
    let mut tool = search();
    tool.title = Some("Issues".into());
    let found = look_up_tools(
        &Catalog::from_iter([tool]),
        ["search_issues", "search_issues"],
    );
    let text: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "github.search_issues: Issues\nFind issues, e.g. open ones. Sorted by age.\n\nMore about it.\ntakes:\n- limit?: integer  -- How many. \
          (minimum 1)\n- state?: \"open\"|\"closed\" = \"open\"\n- query: string  -- Words to look for\ngives: {items: [{number: integer, title: \
          string}]}\neffects: read-only, reaches beyond its own data\n"
        ]
    );
    let inner = r#"{"properties": {"to": {"type": "array", "items": {"properties": {"mail": {"type": "string", "format": "email"}, "name": {"type": "string"}}, "required": ["mail"]}}}}"#;
    let tool = Tool {
        input: schema(inner),
        ..Tool::new("mail", "send")
    };
    let found = look_up_tools(&Catalog::from_iter([tool]), ["mail__send"]);
    assert_eq!(
        found[0].to_string(),
        "mail.send\ntakes:\n- to?: [{mail: string, name?: string}]\n- to[].mail  -- (format \"email\")\neffects: may destroy something, \
         reaches beyond its own data\n"
    );
}

#[test]
fn items_of_a_list_are_described_with_it() {
    let input = r##"{"properties": {
        "tags": {"type": "array", "description": "The marks", "minItems": 1, "items": {"type": "string", "maxLength": 12}},
        "days": {"type": "array", "items": {"$ref": "#/$defs/day"}}, "plain": {"type": "array", "items": {"type": "string"}}},
        "$defs": {"day": {"type": "string", "format": "date", "description": "A day off"}}}"##;
    let tool = Tool {
        input: schema(input),
        ..Tool::new("work", "plan")
    };
    assert_eq!(
        notes(&tool).unwrap(),
        "  - tags: The marks (minItems 1); each item: (maxLength 12)\n  - days: each item: A day off (format \"date\")"
    );
}

#[test]
fn unknown_names_have_suggestions() {
    let tools = [
        ("mail", "send"),
        ("mail", "search"),
        ("chat", "search"),
        ("files", "read_text_file"),
    ];
    let catalog: Catalog = tools
        .into_iter()
        .map(|(server, name)| Tool::new(server, name))
        .collect();
    let check = |name: &str, expected: &str| {
        assert_eq!(
            look_up_tools(&catalog, [name])[0].to_string(),
            format!("{expected}\n")
        );
    };
    check(
        "search",
        "2 servers offer a tool `search`: ask for `mail.search`, `chat.search`",
    );
    check(
        "mail.sent",
        "there is no tool `mail.sent`: did you mean `mail.send`?",
    );
    check(
        "mial.send",
        "there is no tool `mial.send`: did you mean `mail.send`?",
    );
    check(
        "fs__read_text_file",
        "there is no tool `fs__read_text_file`: did you mean `files.read_text_file`?",
    );
    check(
        "read_textfile",
        "there is no tool `read_textfile`: did you mean `files.read_text_file`?",
    );
    check("weather", "there is no tool `weather`");
    assert_eq!(look_up_tools(&catalog, ["send", "send", "x"]).len(), 2);
}

#[test]
fn a_catalog_takes_no_more_than_its_budget() {
    let tools: Vec<Arc<Tool>> = (0..40)
        .map(|index| {
            Arc::new(Tool {
                description: Some("Does something.".into()),
                ..Tool::new(
                    if index < 30 { "many" } else { "few" },
                    format!("tool_{index}"),
                )
            })
        })
        .collect();
    let whole = listing(&tools, 2000);
    assert!(whole.is_whole && whole.text.lines().count() == 40);
    assert!(whole.text.starts_with("many.tool_0()  -- Does something\n"));
    let advice =
        "Some are shown in short: `search_tools` and `describe_tools` tell more about them.\n";
    let check = |budget: usize, expected: &str| {
        let listing = listing(&tools, budget);
        assert!(!listing.is_whole);
        assert_eq!(listing.text, format!("{expected}{advice}"));
    };
    check(
        64,
        "many (30 tools): tool_0, tool_1, tool_2, tool_3, tool_4, tool_5, … 24 more\nfew (10 tools): tool_30, tool_31, tool_32, tool_33, \
         tool_34, tool_35, … 4 more\n",
    );
    // The smallest listing exceeds the budget.
    check(0, "many (30 tools)\nfew (10 tools)\n");
    for budget in 40..800 {
        assert!(estimate_tokens(&listing(&tools, budget).text) <= budget);
    }
    assert_eq!(listing([], 0).text, "");
}

/// With less and less room, tools lose their texts, then their types, then their parameters: the last of each server first.
#[test]
fn listings_shrink_gradually() {
    let input = r#"{"properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}, "required": ["path"]}"#;
    let tools: Vec<Arc<Tool>> = (0..8)
        .map(|index| {
            Arc::new(Tool {
                description: Some("Does something with a file that is rather long to tell.".into()),
                input: schema(input),
                ..Tool::new(if index < 4 { "a" } else { "b" }, format!("t{index}"))
            })
        })
        .collect();
    let lengths = |budget: usize| -> Vec<usize> {
        let text = listing(&tools, budget).text;
        let forms = ["  -- ", ": string", "path", ""];
        let form = |name: String| {
            let line = text.lines().find(|line| line.contains(&name)).unwrap();
            // Names of several tools share a line.
            let line = line.split(&name).nth(1).unwrap();
            forms.iter().position(|form| line.contains(form)).unwrap()
        };
        (0..8).map(|index| form(format!("t{index}"))).collect()
    };
    assert_eq!(lengths(300), [0; 8]);
    assert_eq!(lengths(178), [0, 0, 1, 1, 0, 1, 1, 1]);
    assert_eq!(lengths(110), [1, 2, 2, 2, 1, 2, 2, 2]);
    assert_eq!(lengths(102), [2; 8]);
    assert_eq!(lengths(35), [3; 8]);
}

/// JSON Schemas, valid and malformed.
fn schemas() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#"{"type": "string"}"#.to_owned()),
        Just(r##"{"$ref": "#"}"##.to_owned()),
        Just(r##"{"$ref": "#/properties/a/items"}"##.to_owned()),
        Just(r#"{"type": 7, "enum": {}, "required": "a", "default": [[[[[]]]]]}"#.to_owned()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|members| format!(r#"{{"anyOf": [{}]}}"#, members.join(","))),
            inner.clone().prop_map(|items| format!(r#"{{"type": "array", "items": {items}}}"#)),
            (inner.clone(), inner).prop_map(|(a, b)| format!(
                r#"{{"type": ["object", "null"], "properties": {{"a": {a}, "b c": {b}}}, "required": ["a"], "additionalProperties": {b}}}"#
            )),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_has_a_signature(input in schemas(), output in schemas(), description in ".{0,300}") {
        let tool = Tool { input: schema(&input), output: schema(&output), description: Some(description.into()), ..Tool::new("s", "t") };
        let text = signature(&tool);
        prop_assert!(!text.contains('\n') && text.len() < 2000, "{text}");
        prop_assert_eq!(&text, &signature(&tool));
        let details = super::details(&tool);
        prop_assert!(details.starts_with("s.t\n"));
    }
}

#[test]
fn invisible_characters_are_removed() {
    let tool = Tool {
        title: Some("Re\u{200b}ad".into()),
        description: Some("Reads\u{e0049}\u{e0067}.\n\u{202e}More.".into()),
        input: schema(
            "{\"properties\": {\"p\u{200b}\": {\"enum\": [\"a\u{e0041}\"], \"description\": \"d\u{2066}\"}, \"\u{3164}\": {}}}",
        ),
        ..Tool::new("s", "read")
    };
    assert_eq!(
        signature(&tool),
        r#"s.read("p\u200b"?: "a\udb40\udc41", "\u3164"?: any)  -- Reads"#
    );
    let details = super::details(&tool);
    assert_eq!(planwright_core::text::without_hidden(&details), details);
    assert!(details.contains("s.read: Read\nReads.\nMore."), "{details}");
}
