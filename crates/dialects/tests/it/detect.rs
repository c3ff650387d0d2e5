//! Tests of recognising the dialect of a text.

use planwright_dialects::{Dialect, ReadOptions, dialect, dialects, parse};

#[track_caller]
fn check(text: &str, wanted: &str) {
    let result = parse(text.as_bytes(), &ReadOptions::new("test"));
    let found = match result.dialect {
        Some(name) => name.to_owned(),
        None => result
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .map(|diagnostic| diagnostic.code.to_string())
            .collect::<Vec<String>>()
            .join(" "),
    };
    assert_eq!(found, wanted, "{text}");
}

#[test]
fn a_shape_that_only_one_dialect_has_is_recognised() {
    let reference = r#"{"output_by_reference": {"a": []}}"#;
    check(
        &format!(r#"{{"steps": [{{"id": "a", "tool": "t", "args": {{"x": [{reference}]}}}}]}}"#),
        "concierge",
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "arguments": "{}"}]}"#,
        "agentle",
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t"}], "output_steps": ["a"]}"#,
        "agentle",
    );
    check(r#"{"steps": [{"tool": "t", "params": {}}]}"#, "clear-ai");
    check(
        r#"{"steps": [{"index": 1, "tool": "t", "args": {}}]}"#,
        "mcp-cli",
    );
    check(r#"{"steps": [{"tool": "t", "args": {}}]}"#, "mcp-cli");
    check(
        r#"{"steps": [{"tool": "t", "args": {}, "depends_on": []}]}"#,
        "mcp-cli",
    );
    check(r#"{"variables": {}, "steps": []}"#, "mcp-cli");
}

#[test]
fn a_shape_that_ours_has_as_well_is_read_as_ours() {
    let text = r#"{"steps": [{"id": "a", "tool": "t", "args": {}}, {"id": "b", "tool": "t", "args": {}}]}"#;
    let result = parse(text.as_bytes(), &ReadOptions::new("test"));
    let messages: Vec<String> = result.diagnostics.iter().map(ToString::to_string).collect();
    let wanted = "PW0111: the text is read as `native`, although it has the form of `concierge` as well \
                  (steps run in parallel unless one refers to the other: `--dialect` chooses another dialect)";
    assert_eq!(messages, [wanted]);
    assert_eq!(result.dialect, Some("native"));
    assert!(!result.diagnostics.has_errors());
    for name in ["native", "concierge"] {
        let result = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name));
        assert!(result.diagnostics.is_empty());
        assert_eq!(result.dialect, Some(name));
    }
}

#[test]
fn what_has_no_shape_is_refused() {
    for text in ["7", "\"x\"", "{}", "{\"a\": 1}", "{\"steps\": 7}", "[1]"] {
        check(text, "PW0101");
    }
}

#[test]
fn tool_calls_of_messages_are_recognised_wherever_they_stand() {
    let call = r#"{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}"#;
    let message = format!(r#"{{"role": "assistant", "tool_calls": [{call}]}}"#);
    check(&message, "openai");
    check(&format!("[{call}]"), "openai");
    check(call, "openai");
    check(
        &format!(r#"{{"choices": [{{"message": {message}}}]}}"#),
        "openai",
    );
    let item = r#"{"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"}"#;
    check(
        &format!(r#"{{"object": "response", "output": [{{"type": "reasoning"}}, {item}]}}"#),
        "openai",
    );
    check(&format!("[{item}]"), "openai");
    let block = r#"{"type": "tool_use", "id": "c", "name": "t", "input": {}}"#;
    let text = r#"{"type": "text", "text": "x"}"#;
    check(&format!("[{text}, {block}]"), "anthropic");
    check(
        &format!(r#"{{"role": "assistant", "content": [{block}]}}"#),
        "anthropic",
    );
    check(
        r#"[{"name": "t", "arguments": {}, "label": "$var_1"}]"#,
        "nestful",
    );
    check(
        r#"{"input": "x", "output": "[{\"name\": \"t\", \"arguments\": {}}]"}"#,
        "nestful",
    );
    check(
        r#"{"input": "x", "output": [{"name": "t", "arguments": {}, "label": "var1"}]}"#,
        "nestful",
    );
}

#[test]
fn lines_are_recognised_among_other_words() {
    check(
        "Question: who?\n1. search(\"x\")\n2. join()",
        "llm-compiler",
    );
    check("\n  3) get_it(1)", "llm-compiler");
    check("Plan: look\n#E1 = Google[x]", "rewoo");
    check("Plan: look #E1 = Google[x]", "rewoo");
    check("1. search(\"x\")\n#E1 = Google[x]", "PW0102");
    check("a = search(query=\"x\")", "lines");
    check(
        "Sure:\n```\na = search(\"x\")\nreturn [\"a\"]\n```",
        "lines",
    );
    check("\"odd id\" = ${inputs.x}", "lines");
    check("a = search(x=\"\n1. f(\")", "PW0102");
    check("1. python(\"\"\"\nx = f(1)\n\"\"\")", "llm-compiler");
    check("Plan: look\na = f(1)\n#E1 = Google[x]", "rewoo");
}

#[test]
fn words_are_neither_json_nor_lines_of_calls() {
    for text in ["", "Plan: look", "#E1", "# search(x)", "join()", "a = b"] {
        check(text, "PW0001");
    }
    check("1. Search the web (twice)", "PW0001");
    check("import os\na = f(1)\nprint(a)", "PW0110 PW0110");
    check("plan {\"name\": \"n\"}\nreturn 1", "PW0001");
}

#[test]
fn every_dialect_is_found_by_its_name() {
    for one in dialects() {
        assert_eq!(dialect(one.name()).map(Dialect::name), Some(one.name()));
    }
    assert!(dialect("klingon").is_none());
}
