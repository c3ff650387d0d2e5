//! Texts and plans of other systems: hostile ones cost no more than their size, and none becomes a plan with another meaning.

use planwright_dialects::native::Native;
use planwright_dialects::{Dialect, ReadOptions, parse};
use proptest::prelude::*;

use crate::fixes::fixed;
use crate::fuzz::assert_fixes;

/// Reads `text` in any dialect; fails if it has neither a plan nor an error.
fn read(text: &str) {
    let result = parse(text.as_bytes(), &ReadOptions::new("test"));
    assert!(result.plan.is_some() || result.diagnostics.has_errors());
}

fn nested(open: &str, inside: &str, close: &str) -> String {
    format!("{}{inside}{}", open.repeat(20_000), close.repeat(20_000))
}

#[test]
fn deep_texts_exhaust_no_stack() {
    let list = nested("[", "", "]");
    let object = nested("{a: ", "1", "}");
    for text in [
        format!("[t]\na = {list}"),
        format!("[t]\na = {}", nested("{a = ", "1", "}")),
        format!("[t]\na{} = 1", ".a".repeat(20_000)),
        format!("[t{}]\na = 1", ".a".repeat(20_000)),
        format!("steps:\n  - id: a\n    args: {list}"),
        format!("steps:\n  - id: a\n    args: {object}"),
        format!("steps:\n  {}a", "- ".repeat(20_000)),
        format!("x = f({})\ng()", nested("[", "", "]")),
        format!("x = f(a={})", "[".repeat(4000) + &"]".repeat(4000)),
        format!("await f({{a: {}}})", "[".repeat(4000) + &"]".repeat(4000)),
        format!("await {}f(){}", "gather(".repeat(1200), ")".repeat(1200)),
        nested("<plan>", "<a b='1'/>", "</plan>"),
        nested("(", "", ")"),
    ] {
        read(&text);
        read(&format!("```\n{text}\n```"));
    }
}

#[test]
fn markup_that_does_not_end_is_read_once() {
    for text in [
        "<plan><!--</plan>",
        "<plan><!-- <step tool='f'/>",
        "<!--",
        "<plan><![CDATA[</plan>",
        "<plan><?x </plan>",
        "<plan a='",
        "<plan>&#x;&#99999999;&",
        "steps: &a",
        "steps: *a",
        "steps: |",
        "[[steps]]\na = \"",
        "| tool |\n|--|\n| ",
    ] {
        read(text);
    }
}

#[test]
fn foreign_texts_cost_no_more_than_their_size() {
    let count = 20_000;
    let bomb = (1..12).fold(String::new(), |bomb, at| {
        let aliases = format!("\n  - *a{}", at - 1).repeat(10);
        bomb + &format!("a{at}: &a{at}{aliases}\n")
    });
    let numbered = |text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
    for text in [
        format!("a0: &a0 lol\n{bomb}steps: *a11"),
        format!("<plan>{}", "<!--".repeat(count)),
        format!("{}{}", " ".repeat(count), "<".repeat(count)),
        format!("<plan>{}</plan>", "&".repeat(count)),
        format!("[t]\n{}", numbered(&|at| format!("k{at} = {at}\n"))),
        format!("[t]\n{}", numbered(&|at| format!("a{at}.b = [\n1,\n2]\n"))),
        format!("steps:\n{}", numbered(&|at| format!("  k{at}: &k{at} 1\n"))),
        "[t]\na = [\n".to_owned() + &"1,\n".repeat(count),
    ] {
        read(&text);
    }
}

/// Plans in JSON are as large as the limits of reading allow.
#[test]
fn guessed_plans_cost_no_more_than_their_size() {
    let count = 10_000;
    let list = |text: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(text).collect();
        items.join(",")
    };
    let ids = list(&|at| format!("\"s{at}\""));
    let steps = list(&|at| format!(r#"{{"id": "s{at}", "tool": "t"}}"#));
    let calls = list(&|at| format!(r#"{{"id": "c{at}", "function": {{"name": "f"}}}}"#));
    let cases = list(&|at| format!(r#""k{at}": {{"tool": "t"}}"#));
    let unnamed = list(&|_| r#"{"tool": "t"}"#.to_owned());
    for text in [
        // Each step without an id gets one.
        format!(r#"{{"steps": [{unnamed}]}}"#),
        format!(
            r#"{{"jobs": {{"a": {{"steps": [{}]}}}}}}"#,
            list(&|_| r#"{"uses": "f"}"#.to_owned())
        ),
        format!(
            r#"{{"jobs": {{{}}}}}"#,
            list(&|at| format!(
                r#""j{at}": {{"needs": "j{}", "steps": [{{"uses": "f"}}]}}"#,
                at.max(1) - 1
            ))
        ),
        format!(
            r#"{{"env": {{{}}}, "jobs": {{{}}}}}"#,
            list(&|at| format!(r#""E{at}": "{}""#, "x".repeat(200))),
            list(&|at| format!(
                r#""j{at}": {{"steps": [{{"uses": "f", "with": {{"x": "${{{{ env.E{at} }}}}"}}}}]}}"#
            ))
        ),
        format!(
            r#"{{"StartAt": "C", "States": {{"C": {{"Type": "Choice", "Default": "S", "Choices": [{}]}}, "S": {{"Type": "Succeed"}}}}}}"#,
            list(&|_| r#"{"Variable": "$.a", "NumericEquals": 1, "Next": "S"}"#.to_owned())
        ),
        format!(
            r#"{{"StartAt": "C0", "States": {{{}, "S": {{"Type": "Succeed"}}}}}}"#,
            list(&|at| format!(
                r#""C{at}": {{"Type": "Choice", "Default": "C{0}", "Choices": [{{"Variable": "$.a", "NumericEquals": 1, "Next": "C{0}"}}]}}"#,
                at + 1
            ))
        ),
        format!(
            r#"{{"stages": [{{"parallel": true, "steps": [{steps}]}}, {{"parallel": true, "steps": [{steps}]}}]}}"#
        ),
        format!(
            r#"{{"stages": [{{"name": "s", "steps": [{{"id": "a", "tool": "t", "args": {{"x": "{}"}}}}]}}]}}"#,
            "${s.".repeat(count)
        ),
        format!(
            r#"{{"variables": {{{}}}, "stages": [{{"steps": [{}]}}]}}"#,
            list(&|at| format!(r#""v{at}": 1"#)),
            list(&|at| format!(r#"{{"id": "s{at}", "tool": "t", "args": {{"x": "${{v{at}}}"}}}}"#))
        ),
        format!(
            r#"[{{"hosts": "all", "tasks": [{}]}}]"#,
            list(&|at| format!(r#"{{"f": {{}}, "register": "r{at}", "when": "r0.x"}}"#))
        ),
        format!(
            r#"{{"steps": [{steps}], "edges": [{}]}}"#,
            list(&|at| format!(r#"{{"from": "s{at}", "to": "s0"}}"#))
        ),
        format!(
            r#"{{"steps": [{}]}}"#,
            list(&|at| format!(
                r#"{{"id": "s{at}", "tool": "t", "fallback": {{"tool": "u"}}, "when": "s{at}.output == 1"}}"#
            ))
        ),
        // Each call of a message waits for all of the one before.
        format!(
            r#"{{"messages": [{{"role": "assistant", "tool_calls": [{calls}]}}, {{"role": "assistant", "tool_calls": [{calls}]}}]}}"#
        ),
        format!(
            r#"{{"spec": {{"steps": [[{0}], [{0}]]}}}}"#,
            list(&|at| format!(r#"{{"name": "a{at}", "template": "f"}}"#))
        ),
        format!(r#"{{"steps": [{{"after": [{ids}], "parallel": [{steps}]}}]}}"#),
        format!(
            r#"{{"steps": [{{"switch": "a.b", "cases": {{{cases}, "default": [{steps}]}}}}]}}"#
        ),
        format!(r#"{{"steps": [{steps}, {{"id": "l", "for_each": "${{s1}}", "do": [{steps}]}}]}}"#),
        format!(
            r#"{{"steps": [{}]}}"#,
            list(&|at| format!(
                r#"{{"id": "s{at}", "name": "n{at}", "tool": "t", "args": {{"x": "$node[\"n{at}\"]"}}}}"#
            ))
        ),
        format!(
            r#"{{"steps": [{}]}}"#,
            list(&|at| format!(
                r#"{{"id": "s{at}", "tool": "t", "save_as": "v{at}", "args": {{"x": "${{v{at}}} $v{at}"}}}}"#
            ))
        ),
        format!(
            r#"{{"steps": [{{"id": "a", "tool": "t", "save_as": "v", "args": {{"x": "{}"}}}}]}}"#,
            "${v}".repeat(count)
        ),
        format!(
            r#"{{"steps": [{}]}}"#,
            list(&|at| format!(
                r#"{{"id": "s {at}", "tool": "t", "args": {{"x": "{{{{ s {at}.y }}}}"}}}}"#
            ))
        ),
        format!(
            r#"{{"steps": [{}]}}"#,
            list(&|at| format!(r#"{{"id": "s{at}", "tool": "t", "after": [{at}]}}"#))
        ),
        format!(
            r#"{{"steps": [{}]}}"#,
            list(&|at| format!(
                r#"{{"id": "s{at}", "tool": "t", "version": 1, "reason": "x", "kind": "tool"}}"#
            ))
        ),
    ] {
        let result = parse(text.as_bytes(), &ReadOptions::new("test"));
        assert!(result.plan.is_some() || result.diagnostics.has_errors());
        let _ = result.diagnostics.apply_fixes(&text);
    }
}

/// Pieces that have a meaning in YAML, TOML, XML, tables, or programs.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = [
        "\n",
        "\n  ",
        "\n    ",
        "\n- ",
        "\n  - ",
        "steps:",
        "id: a",
        "tool: t",
        "args: ",
        "- - ",
        "&a ",
        "*a",
        "<<: *a",
        "|",
        ">-",
        "---",
        "'",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        " # ",
        "\n[[steps]]",
        "\n[steps.args]",
        "\nid = ",
        "\na.b = ",
        "<plan>",
        "</plan>",
        "<!--",
        "-->",
        "<step id=\"a\" tool=\"t\">",
        "</step>",
        "<a b='1'/>",
        "<![CDATA[",
        "]]>",
        "&#65;",
        "&lt;",
        "\n| tool | id |",
        "\n|--|--|",
        "\n| t | a |",
        "\\|",
        "\nx = f(",
        ")",
        "await ",
        "const y = ",
        "\nif x.a:",
        "\nfor r in x.rows:",
        "gather(",
        "f(a=1)",
        " -> ",
        "print(",
        "x.a",
        "1",
        "\n```\n",
        "True",
        "~",
        "é",
        "\u{1F600}",
        "\n{\"tool\": \"t\"}",
        "StartAt: A",
        "Then ",
        "import a",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..30).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn no_foreign_text_is_too_wild(text in pieces()) {
        let options = ReadOptions::new("test");
        let result = parse(text.as_bytes(), &options);
        assert_fixes(&text, &result, &options);
        prop_assert!(result.plan.is_some() || result.diagnostics.has_errors());
        for diagnostic in &result.diagnostics {
            let span = diagnostic.span.unwrap_or_default();
            prop_assert!(text.get(span.start..span.end).is_some(), "{diagnostic} of {text:?}");
        }
    }
}

#[test]
fn a_quoted_text_is_no_plan() {
    for text in [
        "\"id: a\"",
        "'tool: t'",
        "\"args: \"",
        "\n```\n\"id: a\"\n```\n",
        "\"\\\"id: a\\\"\"",
        "[\"id: a\"]",
        "'{\"steps\": \"id: a\"}'",
    ] {
        let result = parse(text.as_bytes(), &ReadOptions::new("test"));
        assert!(
            result.plan.is_none() && result.diagnostics.has_errors(),
            "{text}"
        );
    }
}

fn has_errors(text: &str) -> bool {
    parse(text.as_bytes(), &ReadOptions::new("test"))
        .diagnostics
        .has_errors()
}

/// The plan of two steps; the second one, or the group, has `fields`.
fn plan(fields: &str) -> String {
    format!("{{\"steps\": [{{\"id\": \"a\", \"tool\": \"t\"}}, {{{fields}}}]}}")
}

const B: &str = r#"{"id": "b", "tool": "t"}"#;
const C: &str = r#"{"id": "c", "tool": "t"}"#;

/// No fix makes a valid plan of a text that says something else.
#[test]
fn other_meanings_are_not_fixed() {
    for fields in [
        // The condition of the branches would be negated with that of the group.
        format!(r#""when": "a.ok", "parallel": [{{"if": "a.x", "then": {B}, "else": {C}}}]"#),
        format!(r#""if": "a.ok", "then": [{B}], "else": "c""#),
        format!(r#""sequence": [{{"id": "g", "parallel": [{B}]}}, {C}]"#),
        r#""id": "b", "tool": "t", "args": {}, "runAfter": {"a": ["Failed"]}"#.to_owned(),
        r#""id": "b", "tool": "t", "args": {}, "runAfter": {"a": ["Succeeded", "Skipped"]}"#.to_owned(),
        // These may be arguments.
        r#""id": "b", "tool": "t", "items": "${a.rows}""#.to_owned(),
        r#""id": "b", "tool": "t", "over": "a.rows""#.to_owned(),
        r#""tool": "t", "key": "k""#.to_owned(),
        r#""tool": "t", "order": 1"#.to_owned(),
        r#""id": "b", "tool": "t", "status": "pending""#.to_owned(),
        r#""id": "b", "tool": "t", "version": 2"#.to_owned(),
        format!(r#""id": "b", "tool": "t", "fallback": {B}"#),
        r#""id": "b", "tool": "t", "args": {}, "fallback": "a""#.to_owned(),
        r#""id": "b", "tool": "t", "retry": {"attempts": 3, "max_delay_ms": 5000}"#.to_owned(),
        r#""id": "b", "tool": "t", "retry": {"delay": "1s", "delay_ms": 5000}"#.to_owned(),
        r#""id": "b", "tool": "t", "retries": 2, "retry": 5"#.to_owned(),
        r#""id": "b", "tool": "t", "when": "a.x contains 'b' && a.y > 1""#.to_owned(),
        // The plan of a loop has inputs of its own.
        r#""id": "l", "for_each": "${a.rows}", "do": [{"id": "b", "tool": "t", "args": {"x": "${inputs.y}"}}, {"id": "c", "tool": "t"}]"#.to_owned(),
    ] {
        let text = plan(&fields);
        assert!(has_errors(&fixed(&text)), "{text} became {}", fixed(&text));
    }
    let yaml = "steps:\n  - id: a\n    tool: t";
    for text in [
        format!("```yaml\n{yaml}\n```\n```yaml\n{yaml}\n```"),
        "Only if I agree:\n\n| tool | id |\n|--|--|\n| t | a |".to_owned(),
        "| tool | id |\n|--|--|\n| t | a |\n\nBut not today.".to_owned(),
        "I wait:\n<plan>\n<step tool='t' id='a'/>\n</plan>".to_owned(),
        "<plan>\n<step tool='t' id='a'/>\n</plan>\nBut not today.".to_owned(),
        "Only if I agree:\n{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Task\", \"Resource\": \"t\", \"Parameters\": {}, \"End\": true}}}".to_owned(),
        format!(
            "{{\"steps\": {{\"a\": {{\"tool\": \"t\"}}, \"g\": {{\"parallel\": [{B}, {C}]}}}}}}"
        ),
    ] {
        assert!(has_errors(&fixed(&text)), "{text} became {}", fixed(&text));
    }
}

#[test]
fn meanings_are_preserved() {
    let check = |fields: &str, expected: &str| {
        let text = fixed(&plan(fields));
        let expected = format!("{{\"id\":\"a\",\"tool\":\"t\"}},{expected}");
        let result = parse(text.as_bytes(), &ReadOptions::new("test"));
        let printed = result.plan.and_then(|plan| Native.print(&plan).0);
        let printed = printed.unwrap_or_default();
        let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&format!("[{expected}]")).unwrap();
        assert_eq!(printed["steps"], expected, "{fields} became {text}");
    };
    check(
        &format!(r#""id": "l", "for_each": "${{a.rows}}", "sequence": [{B}, {C}]"#),
        r#"{"id":"l","plan":{"steps":[{"id":"b","tool":"t"},{"id":"c","tool":"t","after":["b"]}]},"for_each":"${a.rows}","max_parallel":1}"#,
    );
    check(
        &format!(r#""id": "l", "name": "row", "for_each": "${{a.rows}}", "do": [{B}, {C}]"#),
        r#"{"id":"l","title":"row","plan":{"steps":[{"id":"b","tool":"t"},{"id":"c","tool":"t"}]},"for_each":"${a.rows}","max_parallel":1}"#,
    );
    check(
        r#""id": "b", "tool": "t", "args": {}, "runAfter": {"a": ["Succeeded"]}"#,
        r#"{"id":"b","tool":"t","after":["a"]}"#,
    );
    check(
        r#""id": "b", "tool": {"name": "f", "server": "s", "timeout": "5s", "arguments": {"x": 1}}"#,
        r#"{"id":"b","tool":"s.f","args":{"x":1},"timeout":"5s"}"#,
    );
    check(
        r#""id": "b", "tool": "t", "args": {"x": "${item}"}, "for_each": "${a.kind in ['x', 'y'] ? a.l : a.m}""#,
        r#"{"id":"b","tool":"t","args":{"x":"${item}"},"for_each":"${a.kind in ['x', 'y'] ? a.l : a.m}"}"#,
    );
    check(
        r#""id": "b", "tool": "t", "after": [-1]"#,
        r#"{"id":"b","tool":"t"}"#,
    );
    let marks =
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}], \"kind\": \"plan\", \"version\": 1}";
    assert_eq!(
        fixed(marks),
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}]}"
    );
}
