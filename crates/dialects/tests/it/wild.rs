//! Input of the wildest kind: findings, never a panic, and never a plan without a word of warning.

use planwright_dialects::{ReadOptions, dialects, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values in which keys and texts are drawn from what means something to some dialect.
fn wild() -> impl Strategy<Value = Value> {
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
    (prop::collection::vec(wild(), 0..5), wild()).prop_map(|(steps, other)| {
        let mut plan = match other {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        plan.insert("steps".to_owned(), Value::from(steps));
        Value::Object(plan)
    })
}

proptest! {
    #[test]
    fn no_plan_is_too_wild(plan in plan_like()) {
        let text = plan.to_string();
        for name in dialects().iter().map(|dialect| dialect.name()) {
            let result = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name));
            prop_assert!(result.plan.is_some() || result.diagnostics.has_errors());
            for finding in &result.diagnostics {
                let span = finding.span.unwrap_or_default();
                prop_assert!(text.get(span.start..span.end).is_some());
            }
            let Some(plan) = result.plan else { continue };
            for printer in dialects() {
                let (printed, findings) = printer.print(&plan);
                prop_assert_eq!(printed.is_none(), findings.has_errors());
            }
        }
    }

    #[test]
    fn no_text_is_too_wild(text in "\\PC{0,80}") {
        let result = parse(text.as_bytes(), &ReadOptions::new("test"));
        prop_assert!(result.plan.is_some() || result.diagnostics.has_errors());
    }
}

/// Texts that are large, deep or odd enough to cost more than their size, were a reader careless.
#[test]
fn large_texts_cost_no_more_than_their_size() {
    let many = 100_000;
    let cases = [
        (
            "mcp-cli",
            format!(
                r#"{{"steps": [{{"tool": "t", "args": {{"x": "{}"}}}}]}}"#,
                "${a} ".repeat(many)
            ),
        ),
        (
            "mcp-cli",
            format!(
                r#"{{"steps": [{{"tool": "t", "args": {{"x": "{}"}}}}]}}"#,
                "${{} ".repeat(many)
            ),
        ),
        (
            "clear-ai",
            format!(
                r#"{{"steps": [{{"tool": "t", "params": {{"x": "{}"}}}}]}}"#,
                "é${x}".repeat(many)
            ),
        ),
        (
            "agentle",
            format!(
                r#"{{"steps": [{{"id": "a", "tool": "t", "arguments": {{"x": "$ref:a{}"}}}}]}}"#,
                ".b".repeat(many)
            ),
        ),
        (
            "concierge",
            format!(
                r#"{{"steps": [{{"id": "a", "tool": "t", {}}}]}}"#,
                r#""x": 1, "#.repeat(many) + r#""y": 1"#
            ),
        ),
        (
            "concierge",
            format!(
                r#"{{"steps": [{}]}}"#,
                vec![r#"{"id": "a", "tool": "t"}"#; many].join(",")
            ),
        ),
        (
            "mcp-cli",
            format!(
                r#"{{"steps": [{}]}}"#,
                vec![r#"{"tool": "t", "args": {"x": "${v}"}, "result_variable": "v"}"#; many]
                    .join(",")
            ),
        ),
        (
            "acts",
            format!(
                r#"[{{"_tool": "a", "v": "{}†state.a"}}]"#,
                "†state.a || ".repeat(many)
            ),
        ),
        (
            "acts",
            format!(
                r#"[{{"_tool": "a", "v": "†{}"}}]"#,
                "state.a && ".repeat(many)
            ),
        ),
        (
            "acts",
            format!(
                r#"{{"context": [{}], "calls": [{}]}}"#,
                (0..many / 10)
                    .map(|number| format!(r#"{{"type": "state", "_instance": {number}}}"#))
                    .collect::<Vec<_>>()
                    .join(","),
                vec![r#"{"_tool": "a", "_instance": "x"}"#; many / 10].join(",")
            ),
        ),
        ("concierge", "[".repeat(10_000_000)),
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
