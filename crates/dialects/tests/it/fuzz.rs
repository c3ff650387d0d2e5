//! Hostile input: diagnostics, never a panic, and never a plan without a diagnostic.

use planwright_dialects::{ParseResult, ReadOptions, dialects, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values with keys and texts that have a meaning in some dialect.
fn hostile_value() -> impl Strategy<Value = Value> {
    let words = [
        "steps",
        "id",
        "tool",
        "args",
        "arguments",
        "params",
        "depends_on",
        "index",
        "title",
        "tool_calls",
        "name",
        "variables",
        "result_variable",
        "output_steps",
        "metadata",
        "output_by_reference",
        "$output_by_reference",
        "optional",
        "parallel",
        "timeout",
        "tool_calls",
        "function",
        "function_call",
        "type",
        "call_id",
        "choices",
        "message",
        "content",
        "input",
        "output",
        "label",
        "a",
        "",
    ];
    let texts = [
        "a",
        "",
        "1",
        "0",
        "${a}",
        "${a.b[0]:-1}",
        "$${a}",
        "${",
        "${}",
        "${[",
        "${a[\"",
        "$$${a",
        "${step[0].data.*.x}",
        "${step[",
        "$ref:a",
        "$ref:a.b",
        "$ref:",
        "$ref:.",
        "$$ref:a",
        "x $ref:a",
        "{\"x\": \"$ref:a\"}",
        "{\"x\"",
        "\u{1F600}${é}",
        "function",
        "function_call",
        "tool_use",
        "$a$",
        "$a.b[0]$ and $$a$",
        "$a.$",
        "a.b$",
        "[{\"name\": \"a\", \"label\": \"a\", \"arguments\": {\"x\": \"$a.b$\"}}]",
    ];
    let leaf = prop_oneof![
        4 => prop::sample::select(texts.to_vec()).prop_map(Value::from),
        1 => prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!(-1)), Just(json!(0)), Just(json!(1.5)),
            Just(json!(u64::MAX)),
        ],
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let key = prop::sample::select(words.to_vec());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

fn plan_like() -> impl Strategy<Value = Value> {
    (
        prop::collection::vec(hostile_value(), 0..5),
        hostile_value(),
    )
        .prop_map(|(steps, other)| {
            let mut plan = match other {
                Value::Object(fields) => fields,
                _ => serde_json::Map::new(),
            };
            plan.insert("steps".to_owned(), Value::from(steps));
            Value::Object(plan)
        })
}

/// Lines of pieces that have a meaning in some dialect in lines.
fn lines() -> impl Strategy<Value = String> {
    let pieces = [
        "1. ",
        "2) ",
        "03. ",
        "f(",
        "join(",
        "a = ",
        "\"b c\" = ",
        "g/h(",
        "plan {",
        "return ",
        "${a[\"}\"]}",
        "\"when\": ",
        "# ",
        "```",
        ")",
        "\"",
        "'",
        "\"\"\"",
        "[",
        "]",
        "{",
        "}",
        "(",
        ",",
        ":",
        "=",
        "x=",
        "$1",
        "${2}",
        "$",
        "${",
        "$$",
        "$1.a",
        "#E1",
        "#E2 = ",
        "#E",
        "##",
        "#e1",
        "T[",
        "Plan: ",
        "Thought: ",
        "<END_OF_PLAN>",
        "\n",
        "\r\n",
        "\\",
        "\\x4",
        "\\u00e9",
        "\\N",
        "é",
        "\u{1F600}",
        " ",
        "True",
        "-1.5e3",
        "_",
        "\u{feff}",
        "\u{0}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|all| all.concat())
}

/// Fails if the fixes of `text` make another plan of a plan without errors.
pub(crate) fn assert_fixes(text: &str, result: &ParseResult, options: &ReadOptions<'_>) {
    let Some(fixed) = result.diagnostics.apply_fixes(text) else {
        return;
    };
    let after = parse(fixed.as_bytes(), options);
    if !result.diagnostics.has_errors() {
        let written = |result: &ParseResult| {
            let plan = result.plan.as_ref()?;
            dialects()[0].print(plan).0
        };
        assert_eq!(
            written(result),
            written(&after),
            "{text:?} became {fixed:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_line_is_too_wild(text in lines()) {
        let names = dialects().iter().map(|dialect| Some(dialect.name()));
        for name in names.chain([None]) {
            let options = ReadOptions { dialect: name, ..ReadOptions::new("test") };
            let result = parse(text.as_bytes(), &options);
            assert_fixes(&text, &result, &options);
            prop_assert!(result.plan.is_some() || result.diagnostics.has_errors());
            for diagnostic in &result.diagnostics {
                let span = diagnostic.span.unwrap_or_default();
                prop_assert!(text.get(span.start..span.end).is_some(), "{diagnostic} at {span:?} of {text:?}");
            }
            let Some(plan) = result.plan else { continue };
            let (printed, diagnostics) = dialects()[0].print(&plan);
            prop_assert_eq!(printed.is_none(), diagnostics.has_errors());
        }
    }

    #[test]
    fn no_plan_is_too_wild(plan in plan_like()) {
        let text = plan.to_string();
        for name in dialects().iter().map(|dialect| dialect.name()) {
            let options = ReadOptions::new("test").in_dialect(name);
            let result = parse(text.as_bytes(), &options);
            assert_fixes(&text, &result, &options);
            prop_assert!(result.plan.is_some() || result.diagnostics.has_errors());
            for diagnostic in &result.diagnostics {
                let span = diagnostic.span.unwrap_or_default();
                prop_assert!(text.get(span.start..span.end).is_some());
            }
            let Some(plan) = result.plan else { continue };
            for printer in dialects() {
                let (printed, diagnostics) = printer.print(&plan);
                prop_assert_eq!(printed.is_none(), diagnostics.has_errors());
            }
        }
    }

    #[test]
    fn no_text_is_too_wild(text in "\\PC{0,80}") {
        let result = parse(text.as_bytes(), &ReadOptions::new("test"));
        prop_assert!(result.plan.is_some() || result.diagnostics.has_errors());
    }
}

/// Large, deep or odd texts, whose cost could exceed their size in a careless reader.
#[test]
fn notes_about_notations_are_at_whole_characters() {
    let names = dialects().iter().map(|dialect| Some(dialect.name()));
    for name in names.chain([None]) {
        for text in ["plan {#E1\néPlan: ", "{é: 1, \"steps\": []}"] {
            let options = ReadOptions {
                dialect: name,
                ..ReadOptions::new("test")
            };
            for diagnostic in &parse(text.as_bytes(), &options).diagnostics {
                let span = diagnostic.span.unwrap_or_default();
                let found = text.get(span.start..span.end);
                assert!(found.is_some(), "{diagnostic} at {span:?} of {text:?}");
            }
        }
    }
}

#[test]
fn large_texts_cost_no_more_than_their_size() {
    let count = 20_000;
    let cases = [
        (
            "mcp-cli",
            format!(
                r#"{{"steps": [{{"tool": "t", "args": {{"x": "{}"}}}}]}}"#,
                "${a} ".repeat(count)
            ),
        ),
        (
            "mcp-cli",
            format!(
                r#"{{"steps": [{{"tool": "t", "args": {{"x": "{}"}}}}]}}"#,
                "${{} ".repeat(count)
            ),
        ),
        (
            "clear-ai",
            format!(
                r#"{{"steps": [{{"tool": "t", "params": {{"x": "{}"}}}}]}}"#,
                "é${x}".repeat(count)
            ),
        ),
        (
            "agentle",
            format!(
                r#"{{"steps": [{{"id": "a", "tool": "t", "arguments": {{"x": "$ref:a{}"}}}}]}}"#,
                ".b".repeat(count)
            ),
        ),
        (
            "concierge",
            format!(
                r#"{{"steps": [{{"id": "a", "tool": "t", {}}}]}}"#,
                r#""x": 1, "#.repeat(count) + r#""y": 1"#
            ),
        ),
        (
            "concierge",
            format!(
                r#"{{"steps": [{}]}}"#,
                vec![r#"{"id": "a", "tool": "t"}"#; count].join(",")
            ),
        ),
        (
            "mcp-cli",
            format!(
                r#"{{"steps": [{}]}}"#,
                vec![r#"{"tool": "t", "args": {"x": "${v}"}, "result_variable": "v"}"#; count]
                    .join(",")
            ),
        ),
        (
            "acts",
            format!(
                r#"[{{"_tool": "a", "v": "{}†state.a"}}]"#,
                "†state.a || ".repeat(count)
            ),
        ),
        (
            "acts",
            format!(
                r#"[{{"_tool": "a", "v": "†{}"}}]"#,
                "state.a && ".repeat(count)
            ),
        ),
        (
            "acts",
            format!(
                r#"{{"context": [{}], "calls": [{}]}}"#,
                (0..count / 10)
                    .map(|number| format!(r#"{{"type": "state", "_instance": {number}}}"#))
                    .collect::<Vec<_>>()
                    .join(","),
                vec![r#"{"_tool": "a", "_instance": "x"}"#; count / 10].join(",")
            ),
        ),
        ("concierge", "[".repeat(10_000_000)),
        (
            "native",
            format!("{{{}}}", r#""args": 1, "#.repeat(300_000)),
        ),
        (
            "native",
            format!(
                r#"{{"steps": [{}]}}"#,
                r#"{"id": "a", "args": {}, "x": 1}, "#.repeat(30_000)
            ),
        ),
        (
            "acts",
            format!(r#"[{{"_tool": "a", "v": "†{}"}}]"#, "|".repeat(10_000_000)),
        ),
        ("llm-compiler", format!("1. f({}", "[".repeat(1_000_000))),
        ("llm-compiler", format!("1. f({})", "$1 ".repeat(count))),
        ("llm-compiler", "1. f(\"\"\"\n".repeat(count)),
        ("llm-compiler", "1. f(['a',\n".repeat(count)),
        ("llm-compiler", format!("1. f({})", "0,".repeat(1_100_000))),
        (
            "llm-compiler",
            format!(
                "1. f({})",
                numbered(100_000, |number| format!("x{number}=0, "))
            ),
        ),
        (
            "llm-compiler",
            format!("1. f('{}')", "\\x41$1 ".repeat(count)),
        ),
        ("lines", format!("a = f({}", "[".repeat(1_000_000))),
        ("lines", format!("a = f({}", "${".repeat(500_000))),
        ("lines", format!("a = f(\"{}", "x\n".repeat(500_000))),
        ("lines", "a = f(\"\n".repeat(count)),
        ("lines", "a = f(x=[{\n".repeat(count)),
        ("lines", "a = ${\n".repeat(count)),
        ("lines", "\"a\n".repeat(count)),
        ("lines", "a = f() {\"after\": [\"a\"]}\n".repeat(count)),
        ("lines", "return 1\nplan {}\n".repeat(count)),
        ("lines", format!("a = f({})", "0,".repeat(1_100_000))),
        ("lines", format!("a = f({})", "x=0,".repeat(count))),
        ("lines", format!("plan {{{}}}", "\"x\": 1, ".repeat(count))),
        ("lines", "a=f()\n".repeat(300_000)),
        ("lines", format!("a = f({}\n)", "\n #".repeat(count))),
        ("rewoo", "#E1 = T[\n".repeat(count)),
        ("rewoo", format!("#E1 = T[{}", "x\n".repeat(count))),
        ("rewoo", format!("#E1 = T[{}]", "#E1 ##E1 ".repeat(count))),
        ("rewoo", "#E1=T[]\n".repeat(300_000)),
        (
            "nestful",
            format!(
                r#"[{{"name": "t", "label": "a", "arguments": {{"x": "{}"}}}}]"#,
                "$a.b$ $a ".repeat(count)
            ),
        ),
        (
            "openai",
            format!(
                "[{}]",
                vec![r#"{"type": "function_call", "name": "t", "arguments": "{}"}"#; count]
                    .join(",")
            ),
        ),
    ];
    for (name, text) in cases {
        let result = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name));
        assert!(result.plan.is_some() || result.diagnostics.has_errors());
    }
    let huge = vec![b'['; 100 * 1024 * 1024];
    let result = parse(&huge, &ReadOptions::new("test"));
    let codes: Vec<&str> = result
        .diagnostics
        .iter()
        .map(|one| one.code.as_str())
        .collect();
    assert_eq!(codes, ["PW0002"]);
}

fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}

/// Plans that were not read from a text may be as large, and odder.
#[test]
fn large_plans_cost_no_more_than_their_size_when_they_are_written() {
    let count = 30_000;
    let json = [
        format!(
            r#"{{"steps": [{} {{"id": "z", "value": "${{a}}"}}]}}"#,
            r#"{"id": "a", "tool": "t"}, "#.repeat(count)
        ),
        format!(
            r#"{{"instances": [{}], "slots": [{} {{"instance": "i", "data": {{"a": 1}}}}], "steps": []}}"#,
            numbered(count, |number| format!(r#""i{number}", "#)) + r#""i""#,
            numbered(count, |number| format!(
                r#"{{"instance": "i{number}", "state": {{"a": 1}}}}, "#
            )),
        ),
    ];
    for text in json {
        let plan = parse(
            text.as_bytes(),
            &ReadOptions::new("test").in_dialect("native"),
        );
        let plan = plan.plan.unwrap();
        for dialect in dialects() {
            let (printed, diagnostics) = dialect.print(&plan);
            assert!(printed.is_some() || diagnostics.has_errors());
        }
    }
}

/// Only some of very many diagnostics are shown; the rest is counted.
#[test]
fn very_many_diagnostics_are_counted() {
    let check = |fields: String, more: &str| {
        let text = format!(r#"{{"steps": [], {fields} "y": 1}}"#);
        let result = parse(
            text.as_bytes(),
            &ReadOptions::new("test").in_dialect("native"),
        );
        let last = result.diagnostics.iter().last().unwrap();
        let help = last.help.as_deref().unwrap();
        assert!(help.ends_with(more), "{help}");
        assert_eq!(result.diagnostics.len(), 100);
    };
    let different = |count| numbered(count, |number| format!(r#""x{number}": 1, "#));
    check(different(600), "; 501 further diagnostics are not shown");
    check(
        different(100_000),
        "; more than 900 further diagnostics are not shown",
    );
    check(
        r#""x": 1, "#.repeat(600),
        "; more than 601 further diagnostics are not shown",
    );
}

/// Patterns that ignore case are compiled while a text is read.
#[test]
fn patterns_that_take_long_together_are_refused() {
    let check = |pattern: &str, expected: Option<&str>| {
        let steps = numbered(11, |number| {
            format!(r#"{{"id": "s{number}", "value": "${{matches('a', '{pattern}')}}"}}, "#)
        });
        let text = format!(r#"{{"steps": [{steps}{{"id": "s", "value": 1}}]}}"#);
        let result = parse(
            text.as_bytes(),
            &ReadOptions::new("test").in_dialect("native"),
        );
        let found: Vec<(&str, bool)> = result
            .diagnostics
            .iter()
            .map(|it| {
                (
                    &*it.pointer,
                    it.message.contains("more than 240 sets of characters"),
                )
            })
            .collect();
        let expected: Vec<(&str, bool)> = expected.into_iter().map(|at| (at, true)).collect();
        assert_eq!(found, expected);
    };
    check(&format!("(?i){}", "[a-z]".repeat(24)), None);
    check(&r"\\\\p{Any}".repeat(24), None);
    check(
        &format!("(?i){}", r"\\\\p{Any}".repeat(24)),
        Some("/steps/10/value"),
    );
}
