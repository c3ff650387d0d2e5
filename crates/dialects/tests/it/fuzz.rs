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
