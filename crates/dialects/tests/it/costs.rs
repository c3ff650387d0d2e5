//! Large input: time and memory grow with its size only.

use planwright_dialects::{ReadOptions, dialects, parse};

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
