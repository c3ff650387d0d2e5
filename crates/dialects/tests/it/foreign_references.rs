//! References of other systems in the texts of each dialect: never text for a tool without a diagnostic.

use planwright_core::Code;
use planwright_dialects::{ReadOptions, dialect, parse};
use serde_json::json;

/// A plan in `dialect` whose first call is read as `here` and whose second call takes `text`.
fn plan(dialect: &str, text: &str) -> String {
    let plan = match dialect {
        "agentle" => json!({"steps": [
            {"id": "here", "tool": "f", "arguments": {}},
            {"id": "there", "tool": "g", "arguments": {"a": {"b": ["x", text]}}}
        ]}),
        "mcp-cli" => json!({"id": "p", "title": "t", "variables": {"city": "Oslo"}, "steps": [
            {"index": "1", "title": "a", "tool": "f", "args": {}, "depends_on": [], "result_variable": "here"},
            {"index": "2", "title": "b", "tool": "g", "args": {"a": {"b": ["x", text]}}, "depends_on": []}
        ]}),
        "clear-ai" => json!({"steps": [
            {"tool": "f", "params": {}}, {"tool": "g", "params": {"a": {"b": ["x", text]}}}
        ]}),
        "concierge" => json!({"steps": [
            {"id": "here", "tool": "f", "args": {}},
            {"id": "there", "tool": "g", "args": {"a": {"b": ["x", text]}}}
        ]}),
        "acts" => json!({"context": [{"type": "input", "city": "Oslo"}], "calls": [
            {"_tool": "f", "_outputPath": "†state.here"}, {"_tool": "g", "a": {"b": ["x", text]}}
        ]}),
        "nestful" => json!([
            {"name": "f", "label": "$here", "arguments": {}},
            {"name": "g", "label": "$there", "arguments": {"a": {"b": ["x", text]}}}
        ]),
        "openai" => json!([
            {"id": "here", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "there", "type": "function", "function": {
                "name": "g", "arguments": json!({"a": {"b": ["x", text]}}).to_string()
            }}
        ]),
        "anthropic" => json!([
            {"type": "tool_use", "id": "here", "name": "f", "input": {}},
            {"type": "tool_use", "id": "there", "name": "g", "input": {"a": {"b": ["x", text]}}}
        ]),
        "llm-compiler" => return format!("1. f()\n2. g(a={})\n3. join()\n", json!(text)),
        "rewoo" => return format!("#E1 = f[x]\n#E2 = g[{text}]\n"),
        _ => panic!("no dialect {dialect}"),
    };
    plan.to_string()
}

/// The diagnostics of that plan: whether each is an error, and its help.
fn found(dialect: &str, text: &str) -> Vec<(bool, String)> {
    let plan = plan(dialect, text);
    let result = parse(
        plan.as_bytes(),
        &ReadOptions::new("test").in_dialect(dialect),
    );
    let found = result.diagnostics.iter();
    let found = found.inspect(|one| assert_eq!(one.code, Code::MalformedReference, "{one:?}"));
    found
        .map(|one| (one.is_error(), one.help.clone().unwrap_or_default()))
        .collect()
}

/// Each dialect with a step as other systems write it, and the reference to its field `temp` in the dialect.
const STEPS: [(&str, &str, &str); 10] = [
    ("agentle", "here", "`$ref:here.temp`"),
    ("mcp-cli", "here", "`${here.temp}`"),
    ("clear-ai", "step[0].data", "`${step[0].data.temp}`"),
    (
        "concierge",
        "here",
        r#"`{"output_by_reference": {"here": ["temp"]}}`"#,
    ),
    ("acts", "here", "`†state.here.temp`"),
    ("nestful", "here", "`$here.temp$`"),
    ("openai", "here", "${here.temp}"),
    ("anthropic", "here", "${here.temp}"),
    ("llm-compiler", "steps.1", "`${1.temp}`"),
    ("rewoo", "E1", "`#E1.temp`"),
];

#[test]
fn a_field_of_a_step_in_a_foreign_form_is_an_error() {
    for (dialect, step, reference) in STEPS {
        for form in [
            "{{X.temp}}",
            "It is {{ X.temp }} there",
            "<X.temp>",
            "at <X.temp> now",
            "@X.temp",
            "#{X.temp}",
            "[[X.temp]]",
            "{X.temp}",
        ] {
            let text = form.replace('X', step);
            let found = found(dialect, &text);
            let [(true, help)] = &found[..] else {
                panic!("{dialect}: {text}: {found:?}");
            };
            assert!(help.contains(reference), "{dialect}: {text}: {help}");
        }
        // Some of these are malformed references of the dialect's own.
        for form in ["${{ X.temp }}", "$X.temp", "$ref:X.temp", "${X.temp}"] {
            // A variable of a strange name, which the checks report as unknown.
            if (dialect, form) == ("mcp-cli", "${{ X.temp }}") {
                continue;
            }
            let text = form.replace('X', step);
            let is_own = match dialect {
                "agentle" => form.starts_with("$ref:"),
                "mcp-cli" | "clear-ai" => form.starts_with("${X"),
                _ => false,
            };
            let found = found(dialect, &text);
            assert_eq!(!found.is_empty(), !is_own, "{dialect}: {text}: {found:?}");
            assert!(
                found.iter().all(|(is_error, _)| *is_error),
                "{dialect}: {text}"
            );
        }
    }
}

#[test]
fn an_input_in_a_foreign_form_is_reported() {
    for (dialect, reference) in [("mcp-cli", "`${city}`"), ("acts", "`†input.city`")] {
        for text in ["{{city}}", "{{ inputs.city }}", "$inputs.city", "<city>"] {
            let found = found(dialect, text);
            assert!(
                found.iter().any(|(is_error, _)| *is_error),
                "{dialect}: {text}"
            );
        }
        let found = found(dialect, "Weather in {city}, please");
        assert_eq!(found, [(false, format!("write {reference}"))], "{dialect}");
    }
}

#[test]
fn other_texts_are_clean() {
    for (dialect, _, _) in STEPS {
        for text in [
            "Dear {{name}},",
            "$PATH",
            "it costs $5.00, or $1,000",
            "\\frac{a}{b} $x^2$",
            "<b>here</b> and <p class=\"x\">a</p>",
            "{% if x %}",
            "a <- b",
            "#hashtag",
            "me@here.example",
            "50% of here",
            "{0} {1} %s",
            "for f in $(ls); do echo; done",
            "<!-- c -->",
            "here.temp",
        ] {
            // A number after a dollar is the reference of this dialect.
            if dialect == "llm-compiler" && text.contains("$5") {
                continue;
            }
            assert_eq!(found(dialect, text), [], "{dialect}: {text}");
        }
    }
}

#[test]
fn escaped_references_of_the_own_form_are_clean() {
    for (dialect, text) in [
        ("agentle", "$$ref:here.temp"),
        ("mcp-cli", "$${here.temp}"),
        ("clear-ai", "$${step[0].data.temp}"),
        ("acts", "††state.here.temp"),
        ("nestful", "$$here.temp"),
        ("llm-compiler", "$$1"),
        ("rewoo", "##E1"),
    ] {
        assert_eq!(found(dialect, text), [], "{dialect}: {text}");
    }
}

#[test]
fn a_text_that_the_reader_reports_is_printed_with_a_warning() {
    let text = r#"{"steps": [{"id": "a", "tool": "f"}, {"id": "b", "tool": "g", "args": {"x": "${'{{a.y}}'}"}}]}"#;
    let result = parse(
        text.as_bytes(),
        &ReadOptions::new("test").in_dialect("native"),
    );
    assert!(result.diagnostics.is_empty(), "{:?}", result.diagnostics);
    let plan = result.plan.unwrap();
    for name in ["mcp-cli", "concierge", "agentle", "acts"] {
        let (printed, diagnostics) = dialect(name).unwrap().print(&plan);
        assert!(printed.is_some(), "{name}");
        let mut found = diagnostics.iter().map(|one| &*one.message);
        assert!(
            found.any(|message| message.contains("`{{a.y}}`")),
            "{name}: {diagnostics:?}"
        );
    }
}
