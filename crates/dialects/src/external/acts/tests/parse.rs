//! Tests of reading.

use planwright_core::Code;

use super::{described, parsed, sound};
use crate::acts::Acts;
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{ReadLimits, read};
use crate::registry::detect;

#[track_caller]
fn check(text: &str, wanted: &str) {
    let described = described(&sound(text));
    assert_eq!(described.trim_end(), wanted, "{text}");
}

#[test]
fn calls() {
    let cases = [
        (r#"{"_tool": "a"}"#, "a: tool a {}"),
        (
            r#"{"_tool": "a", "x": 1, "y": {"z": [null]}}"#,
            r#"a: tool a {"x":1,"y":{"z":[null]}}"#,
        ),
        (
            r#"{"_tool": "a", "__x": 1, "___y": 2, "x_": 3}"#,
            r#"a: tool a {"_x":1,"__y":2,"x_":3}"#,
        ),
        (
            r#"{"_tool": "a", "_outputPath": "†state.x"}"#,
            "a: tool a {} -> Set state.x",
        ),
        (
            r#"{"_tool": "a", "_outputPath": "†state"}"#,
            "a: tool a {} -> Set state",
        ),
        (
            r#"{"_tool": "a", "_outputPath": " †data.x.0 "}"#,
            "a: tool a {} -> Set data.x.0",
        ),
        (
            r#"{"_tool": "a", "_outputPath": "†state.x || †state.e", "_outputMethod": "set"}"#,
            "a: tool a {} -> Set state.x or state.e",
        ),
        (
            r#"{"_tool": "a", "_outputPath": "†state.x&&†data.y&&†state.z", "_outputMethod": "merge"}"#,
            "a: tool a {} -> Merge state.x and data.y and state.z",
        ),
        (
            r#"{"_tool": "a", "_outputPath": "†state.x", "_outputMethod": "push"}"#,
            "a: tool a {} -> Push state.x",
        ),
        (
            r#"{"_tool": "a", "_outputPath": null, "_instance": null}"#,
            "a: tool a {}",
        ),
        (r#"{"_tool": "a", "_activity": "b"}"#, "a: tool b {}"),
        (
            r#"{"_tool": "a", "_delegate": "p", "v": "†state.x"}"#,
            r#"a: plan p {"v":<state.x>}"#,
        ),
        (
            r#"{"_tool": "a", "_delegate": "p", "_scopes": ["state", "input", "state", "data"]}"#,
            "a: plan p sees state sees inputs sees data {}",
        ),
        (
            r#"{"_tool": "a", "_delegate": "anonymous"}"#,
            "a: tool a {}",
        ),
        (
            r#"{"_tool": "a", "_delegate": "anonymous", "_activity": "b"}"#,
            "a: tool b {}",
        ),
        (
            r#"{"_tool": "a", "q": "?", "_output": "idea"}"#,
            r#"a: value "idea" {"q":"?"}"#,
        ),
        (
            r#"{"_tool": "a", "_output": {"v": ["†input.x"]}}"#,
            r#"a: value {"v":[<inputs.x>]} {}"#,
        ),
        (r#"{"_tool": "a", "_output": false}"#, "a: value false {}"),
        (r#"{"_tool": "a", "_output": null}"#, "a: tool a {}"),
        (
            r#"{"_tool": "a", "_reasoningForCall": "it helps"}"#,
            "a: tool a {} because it helps",
        ),
    ];
    for (call, wanted) in cases {
        check(&format!("[{call}]"), wanted);
        check(&format!(r#"{{"calls": [{call}]}}"#), wanted);
        check(call, wanted);
    }
}

#[test]
fn references() {
    let cases = [
        ("†state.x", "<state.x>"),
        ("†state", "<state>"),
        ("†input.a.b.c", "<inputs.a.b.c>"),
        ("†data.list.0.-1", "<data.list.0.-1>"),
        (
            "†state.first-name.$id.a_b.x:y.@t",
            "<state.first-name.$id.a_b.x:y.@t>",
        ),
        ("†state.größe.名前", "<state.größe.名前>"),
        (" †state.x\\n", "<state.x>"),
        ("†state.a || †input.b", "<state.a or inputs.b>"),
        ("†state.a||†input.b||†data", "<state.a or inputs.b or data>"),
        ("†state.a && †state.b", "<state.a and state.b>"),
        (r#"†state[\"odd key\"].a"#, "<state.odd key.a>"),
        (
            r#"†state.a[\"x || †y\"][\"\"] || †data[\"]\"]"#,
            "<state.a.x || †y. or data.]>",
        ),
        (
            r#"†state[\"a\\\"b\\\\\"] && †data"#,
            "<state.a\"b\\ and data>",
        ),
        ("††state.x", "\"†state.x\""),
        ("††", "\"†\""),
        ("††††", "\"††\""),
        ("Goethe (††1832)", "\"Goethe (†1832)\""),
        ("a || b", "\"a || b\""),
        ("state.x", "\"state.x\""),
        ("", "\"\""),
    ];
    for (text, wanted) in cases {
        check(
            &format!(r#"[{{"_tool": "t", "v": "{text}"}}]"#),
            &format!(r#"t: tool t {{"v":{wanted}}}"#),
        );
        check(
            &format!(r#"[{{"_tool": "t", "v": {{"†k": [0, "{text}"]}}, "w": "†state.w"}}]"#),
            &format!(r#"t: tool t {{"v":{{"†k":[0,{wanted}]}},"w":<state.w>}}"#),
        );
    }
}

#[test]
fn ids() {
    let cases: [(&[&str], &str); 4] = [
        (&["a", "b", "a", "a"], "a b a#2 a#3"),
        (&["a", "a", "a#2"], "a a#2 a#2#2"),
        (&["a#2", "a", "a"], "a#2 a a#3"),
        (&["", ""], " #2"),
    ];
    for (tools, wanted) in cases {
        let calls: Vec<String> = tools
            .iter()
            .map(|tool| format!(r#"{{"_tool": "{tool}"}}"#))
            .collect();
        let plan = sound(&format!("[{}]", calls.join(",")));
        let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids.join(" "), wanted);
    }
}

#[test]
fn messages() {
    let cases = [
        (
            r#"{"type": "input", "city": "Oslo", "n": null}"#,
            r#"inputs holds {"city":"Oslo","n":null}"#,
        ),
        (
            r#"{"type": "input", "input": {"city": "Oslo"}}"#,
            r#"inputs holds {"city":"Oslo"}"#,
        ),
        (
            r#"{"type": "input", "input": {"city": "Oslo"}, "schema": {"type": "object"}}"#,
            "inputs holds {\"city\":\"Oslo\"}\ninputs fits {\"type\":\"object\"}",
        ),
        (
            r#"{"type": "input", "input": "text", "schema": "public"}"#,
            r#"inputs holds {"input":"text","schema":"public"}"#,
        ),
        (
            r#"{"type": "state", "k": "†state.x"}"#,
            r#"state holds {"k":"†state.x"}"#,
        ),
        (
            r#"{"type": "state", "state": {"type": 1, "_k": 2}}"#,
            r#"state holds {"type":1,"_k":2}"#,
        ),
        (
            r#"{"type": "state", "schema": {"properties": {"x": {}}}}"#,
            r#"state fits {"properties":{"x":{}}}"#,
        ),
        (r#"{"type": "state"}"#, "state holds {}"),
        (
            r#"{"type": "data", "data": {"u": 1}}"#,
            r#"data holds {"u":1}"#,
        ),
        (
            r#"{"type": "data", "u": 1, "kind": "x"}"#,
            r#"data holds {"u":1,"kind":"x"}"#,
        ),
        (
            r#"{"type": "data", "kind": "state", "data": {"u": 1}}"#,
            r#"state holds {"u":1}"#,
        ),
    ];
    for (message, wanted) in cases {
        check(
            &format!(r#"{{"context": [{message}], "calls": [{{"_tool": "t"}}]}}"#),
            &format!("{wanted}\nt: tool t {{}}"),
        );
        check(
            &format!(r#"[{message}, {{"type": "plan", "plan": [{{"_tool": "t"}}]}}]"#),
            &format!("{wanted}\nt: tool t {{}}"),
        );
    }
}

#[test]
fn instances() {
    let text = r#"{"context": [
        {"type": "input", "_instance": "2", "lang": "de"},
        {"type": "input", "lang": "en"},
        {"type": "state", "_instance": 1, "w": 1},
        {"type": "state", "_instance": "2", "schema": {}},
        {"type": "data", "_instance": 1, "data": {"d": 0}}],
      "calls": [{"_tool": "t", "_instance": 1}, {"_tool": "t", "_instance": "2"}]}"#;
    check(
        text,
        r#"inputs#2 holds {"lang":"de"}
inputs holds {"lang":"en"}
state#1 holds {"w":1}
data#1 holds {"d":0}
state fits {}
instances 2, 1
t: tool t {} for 1
t#2: tool t {} for 2"#,
    );
}

#[test]
fn plans() {
    let cases = [
        (r#"{"calls": [], "output": null}"#, ""),
        (
            r#"{"calls": [{"_tool": "t"}], "output": "†state.x"}"#,
            "t: tool t {}\ngives <state.x>",
        ),
        (
            r#"{"calls": [{"_tool": "t"}], "output": {"a": "†state.x || †state.y"}}"#,
            "t: tool t {}\ngives {\"a\":<state.x or state.y>}",
        ),
        (
            r#"{"calls": [{"_tool": "t"}], "output": {"ok": true}}"#,
            "t: tool t {}\ngives {\"ok\":true}",
        ),
        (
            r#"{"plan": [{"_tool": "t"}], "mode": "lazy"}"#,
            "to be shown\nt: tool t {}",
        ),
        (
            r#"{"type": "plan", "plan": [{"_tool": "t"}], "mode": "lazy"}"#,
            "to be shown\nt: tool t {}",
        ),
        (
            r#"{"context": [{"type": "plan", "plan": [{"_tool": "t"}], "mode": "eager"}]}"#,
            "t: tool t {}",
        ),
        (
            r#"{"context": [{"type": "plan", "plan": [{"_tool": "old"}], "mode": "lazy"}], "calls": [{"_tool": "t"}]}"#,
            "to be shown\nt: tool t {}\n\
             keeps {\"context\":[{\"type\":\"plan\",\"plan\":[{\"_tool\":\"old\"}],\"mode\":\"lazy\"}]}",
        ),
        (
            r#"{"meta": {"domain": "d"}, "advisors": [1], "calls": [{"_tool": "t"}]}"#,
            "t: tool t {}\nkeeps {\"meta\":{\"domain\":\"d\"},\"advisors\":[1]}",
        ),
        (
            r#"{"context": [{"type": "text", "text": "hi †x"}, {"role": "user", "content": "x"},
                {"call": {"_tool": "a"}, "error": "no"}, {"type": "tool", "tool": "a"}],
                "calls": [{"_tool": "t"}]}"#,
            "t: tool t {}\nkeeps {\"context\":[{\"type\":\"text\",\"text\":\"hi †x\"},{\"role\":\"user\",\
             \"content\":\"x\"},{\"call\":{\"_tool\":\"a\"},\"error\":\"no\"},{\"type\":\"tool\",\"tool\":\"a\"}]}",
        ),
    ];
    for (text, wanted) in cases {
        check(text, wanted);
    }
}

#[test]
fn shapes() {
    use MatchConfidence::{Certain, No, Possible};
    let cases = [
        (r#"[{"_tool": "a"}]"#, Certain),
        (r#"{"_tool": "a"}"#, Certain),
        (r#"{"calls": [{"_tool": "a"}], "output": null}"#, Certain),
        (r#"{"plan": [{"_tool": "a"}]}"#, Certain),
        (r#"{"context": [{"type": "plan", "plan": []}]}"#, Certain),
        (
            r#"[{"type": "input"}, {"type": "plan", "plan": [{"_tool": "a"}]}]"#,
            Certain,
        ),
        (
            r#"{"context": [{"type": "input", "a": 1}], "calls": [{"tool": "a"}]}"#,
            Possible,
        ),
        (r#"[{"type": "function", "function": {"name": "a"}}]"#, No),
        (r#"[{"type": "tool_use", "name": "a"}]"#, No),
        (r#"{"context": [], "calls": []}"#, No),
        (r#"{"calls": []}"#, No),
        (r#"{"steps": [{"id": "a", "tool": "t"}]}"#, No),
        ("[]", No),
        ("{}", No),
        ("1", No),
    ];
    for (text, wanted) in cases {
        let (document, _) = read(text, "plan", 0, &ReadLimits::default());
        let document = document.expect(text);
        assert_eq!(Acts.recognise(&document), wanted, "{text}");
        if wanted == Certain {
            let dialect = detect(&document).expect(text);
            assert_eq!(dialect.name(), "acts", "{text}");
        }
    }
}

#[test]
fn plain_data_is_no_plan() {
    for text in [
        "1",
        "\"†state.x\"",
        "null",
        "[1]",
        "[[]]",
        r#"[{"type": "input"}]"#,
    ] {
        let result = parsed(text);
        assert!(result.plan.is_none(), "{text}");
        let codes = [Code::WrongFieldType, Code::MissingField];
        let first = result.diagnostics.iter().next().expect(text);
        assert!(codes.contains(&first.code), "{text}: {first}");
    }
}
