//! Diagnostics of malformed plans.

use super::{diagnostics, parsed};

/// Checks the diagnostics of `text`, one per line.
#[track_caller]
fn check(text: &str, wanted: &str) {
    let found = diagnostics(&parsed(text));
    assert_eq!(found.trim_end(), wanted, "{text}");
}

const FORM: &str = "(a reference is a whole text such as `†state.user.name`; there are the kinds `input`, `state` \
                    and `data`, and `††` is a literal `†`)";

#[test]
fn references() {
    let cases = [
        ("† state", "a blank follows `†` (write `†state`)", "† state"),
        ("†", "a name is missing after `†` FORM", "†"),
        (
            "†stat.x",
            "`stat` is not a kind of data (write `†state.x`)",
            "†stat.x",
        ),
        (
            "†inputs.x",
            "`inputs` is not a kind of data (write `†input.x`)",
            "†inputs.x",
        ),
        ("†vars.x", "`vars` is not a kind of data FORM", "†vars.x"),
        ("†.x", "`†.x` has an empty part FORM", "†.x"),
        ("†state.", "`†state.` has an empty part FORM", "†state."),
        (
            "†state..x",
            "`†state..x` has an empty part FORM",
            "†state..x",
        ),
        (
            "†state.x is good",
            "text follows the reference `†state.x` FORM",
            "†state.x is good",
        ),
        (
            "†state.x > 3",
            "text follows the reference `†state.x` FORM",
            "†state.x > 3",
        ),
        (
            "†state.x!",
            "a reference cannot contain `!` FORM",
            "†state.x!",
        ),
        (
            "†state.x[0].y",
            "a reference cannot contain `[` (write `†state.x.0.y`)",
            "†state.x[0].y",
        ),
        (
            r#"†state.x[\"a\"]b"#,
            "a reference cannot contain `b` FORM",
            r#"†state.x[\"a\"]b"#,
        ),
        (
            r#"†state[\"a\"] b"#,
            "text follows the reference `†state[\"a\"]` FORM",
            r#"†state[\"a\"] b"#,
        ),
        (
            r#"†state[\"a || †data"#,
            "the text in `[\"…\"]` is not closed or not JSON FORM",
            r#"†state[\"a || †data"#,
        ),
        (
            "†state.x[*]",
            "a reference cannot contain `[` FORM",
            "†state.x[*]",
        ),
        (
            "†state.a || state.b",
            "`state.b` does not begin with `†` (write `†state.a || †state.b`)",
            "state.b",
        ),
        ("†state.a || 5", "`5` does not begin with `†` FORM", "5"),
        ("†state.a ||", "an operand is missing FORM", ""),
        (
            "†state.a | †state.b",
            "text follows the reference `†state.a` FORM",
            "†state.a | †state.b",
        ),
        (
            "see †state.x",
            "a reference must be the whole text WHOLE",
            "†",
        ),
        (
            "†††state.x",
            "a reference must be the whole text WHOLE",
            "†",
        ),
        (
            "state.a || †state.b",
            "a reference must be the whole text WHOLE",
            "†",
        ),
    ];
    let whole = "(pass it as a whole parameter, or write `††` for a literal `†`)";
    for (text, wanted, spot) in cases {
        let wanted = wanted.replace("FORM", FORM).replace("WHOLE", whole);
        let deep =
            format!(r#"[{{"_tool": "t", "v": [{{"w": "{text}"}}], "_outputPath": "†state.t"}}]"#);
        check(&deep, &format!("PW0401 at /0/v/0/w: {wanted} [{spot}]"));
    }
    check(
        r#"[{"_tool": "t", "v": "†state.a || †state.b && †state.c"}]"#,
        "PW0403 at /0/v: `†state.a || †state.b && †state.c` mixes `||` and `&&` (their precedence is not defined: use one of them, and let another call do the rest) [†state.a || †state.b && †state.c]",
    );
    check(
        r#"[{"_tool": "t", "v": "†stat.a || state.b"}]"#,
        "PW0401 at /0/v: `stat` is not a kind of data (write `†state.a || †state.b`) [†stat.a]\n\
         PW0401 at /0/v: `state.b` does not begin with `†` (write `†state.a || †state.b`) [state.b]",
    );
}

#[test]
fn safe_fixes() {
    let cases = [
        ("† state.x", Some("†state.x")),
        ("†state.a || state.b", Some("†state.a || †state.b")),
        ("†state.l[0]", Some("†state.l.0")),
        ("†stat.x", None),
        ("†state.x is", None),
    ];
    for (text, wanted) in cases {
        let result = parsed(&format!(r#"[{{"_tool": "t", "v": "{text}"}}]"#));
        let diagnostic = result.diagnostics.iter().next().expect(text);
        let fix = diagnostic
            .fix
            .as_ref()
            .map(|fix| (&*fix.pointer, &*fix.replacement));
        assert_eq!(fix, wanted.map(|wanted| ("/0/v", wanted)), "{text}");
    }
}

#[test]
fn output_paths() {
    let cases = [
        (
            r#""_outputPath": "state.x""#,
            "PW0401 at /0/_outputPath: `state.x` does not begin with `†` (write `†state.x`) [state.x]",
        ),
        (
            r#""_outputPath": "†input.x || †state.e""#,
            "PW0108 at /0/_outputPath: `†input.x` is an input, which no call writes (write to `†state…` or `†data…`) \
             [†input.x || †state.e]",
        ),
        (
            r#""_outputPath": "†state.a || †state.b && †state.c""#,
            "PW0403 at /0/_outputPath: `†state.a || †state.b && †state.c` mixes `||` and `&&` (their precedence is not defined: use one of them, and let another call do the rest) [†state.a || †state.b && †state.c]",
        ),
        (
            r#""_outputPath": ["†state.x"]"#,
            "PW0104 at /0/_outputPath: expected text in `_outputPath`, found a list [[\"†state.x\"]]",
        ),
        (
            r#""_outputPath": "†state.x", "_outputMethod": "append""#,
            "PW0108 at /0/_outputMethod: `append` is not an output method (write `set`, `merge`, \
             `assign`, `push`, `concat`) [\"append\"]",
        ),
        (
            r#""_outputPath": "†state.x", "_outputMethod": "merg""#,
            "PW0108 at /0/_outputMethod: `merg` is not an output method (did you mean `merge`?) [\"merg\"]",
        ),
        (
            r#""_outputMethod": "push""#,
            "warning PW0107 at /0/_outputMethod: `_outputMethod` has no effect without `_outputPath` (add \
             `_outputPath`, such as `†state.result`) [\"push\"]",
        ),
    ];
    for (fields, wanted) in cases {
        check(&format!(r#"[{{"_tool": "t", {fields}}}]"#), wanted);
    }
}

#[test]
fn calls() {
    let cases = [
        (
            r#"[{"tool": "t"}]"#,
            "PW0103 at /0: the call has no `_tool` (add `_tool`) [{\"tool\": \"t\"}]",
        ),
        (
            "[7]",
            "PW0104 at /0: the call must be an object, found a number [7]",
        ),
        (
            r#"[{"_tool": 7}]"#,
            "PW0104 at /0/_tool: expected text in `_tool`, found a number [7]",
        ),
        (
            r#"[{"_tool": "t", "_outputpath": "†state.x"}]"#,
            "PW0105 at /0/_outputpath: the call has an unknown field `_outputpath` (did you mean `_outputPath`?) \
             [\"_outputpath\"]",
        ),
        (
            r#"[{"_tool": "t", "_retries": 3}]"#,
            "PW0105 at /0/_retries: the call has an unknown field `_retries` (a parameter of that name is written \
             `__retries`) [\"_retries\"]",
        ),
        (
            r#"[{"_tool": "t", "_output": 1, "_delegate": "p", "_activity": "a"}]"#,
            "PW0107 at /0/_delegate: the call has both `_output` and `_delegate` (`_output` is a result, `_activity` \
             calls a tool, `_delegate` runs a plan: keep one of them) [\"p\"]\n\
             PW0107 at /0/_activity: the call has both `_output` and `_activity` (`_output` is a result, `_activity` \
             calls a tool, `_delegate` runs a plan: keep one of them) [\"a\"]",
        ),
        (
            r#"[{"_tool": "t", "_scopes": ["state"]}]"#,
            "warning PW0107 at /0/_scopes: `_scopes` has no effect without a plan in `_delegate` (a tool receives only its parameters) [[\"state\"]]",
        ),
        (
            r#"[{"_tool": "t", "_delegate": "p", "_scopes": ["stat", "text", 1]}]"#,
            "PW0108 at /0/_scopes/0: `stat` is not a kind of data (did you mean `state`?) [\"stat\"]\n\
             warning PW0108 at /0/_scopes/1: a plan reads nothing from messages of the type `text` (`input`, \
             `state` and `data` do) [\"text\"]\n\
             PW0104 at /0/_scopes/2: expected a list of texts in `_scopes`, found a number [1]",
        ),
        (
            r#"[{"_tool": "t", "_delegate": 1, "_scopes": "state", "_instance": 1.5}]"#,
            "PW0104 at /0/_delegate: expected text in `_delegate`, found a number [1]\n\
             PW0104 at /0/_scopes: expected a list in `_scopes`, found text [\"state\"]\n\
             PW0104 at /0/_instance: expected text or a whole number in `_instance`, found a number [1.5]",
        ),
        (
            r#"[{"_tool": "t", "_instance": "1"}]"#,
            "PW0108 at /0/_instance: no instance is called `1` (there are no instances; `_instance` of `state` and `input` messages creates them) [\"1\"]",
        ),
        (
            r#"{"context": [{"type": "state", "_instance": "north"}, {"type": "state", "_instance": "south"}],
                "calls": [{"_tool": "t", "_instance": "nort"}, {"_tool": "t", "_instance": "west"}]}"#,
            "PW0108 at /calls/0/_instance: no instance is called `nort` (did you mean `north`?) [\"nort\"]\n\
             PW0108 at /calls/1/_instance: no instance is called `west` (there are `north`, `south`) [\"west\"]",
        ),
    ];
    for (text, wanted) in cases {
        check(text, wanted);
    }
}

#[test]
fn messages() {
    let cases = [
        (
            r#"{"no": 1}"#,
            "PW0103 at /context/0: the message has no `type` (add `type`) [{\"no\": 1}]",
        ),
        (
            r#""hi""#,
            "PW0104 at /context/0: the message must be an object, found text [\"hi\"]",
        ),
        (
            r#"{"type": 1}"#,
            "PW0104 at /context/0/type: expected text in `type`, found a number [1]",
        ),
        (
            r#"{"type": "stats", "a": 1}"#,
            "warning PW0105 at /context/0/type: messages of the type `stats` are not known (did you mean `state`?) \
             [\"stats\"]",
        ),
        (
            r#"{"type": "picture"}"#,
            "warning PW0105 at /context/0/type: messages of the type `picture` are not known (it is preserved, but has no effect; there are `input`, `state`, `data`, `plan`, `tool`, `text`, `system`, `user`, `assistant`, \
             `meta`, `advisor`, `error`, `preset`) [\"picture\"]",
        ),
        (
            r#"{"type": "state", "state": {"a": 1}, "b": 2, "c": 3}"#,
            "PW0107 at /context/0/b: the message has fields both in `state` and beside it (put all of them into `state`, or all \
             beside `type`) [\"b\"]",
        ),
        (
            r#"{"type": "state", "_instanze": "a", "_x": 1}"#,
            "PW0105 at /context/0/_instanze: the message has an unknown field `_instanze` (did you mean `_instance`?) \
             [\"_instanze\"]\n\
             PW0105 at /context/0/_x: the message has an unknown field `_x` (write a name that begins with `_` in the object `state`) [\"_x\"]",
        ),
        (
            r#"{"type": "data", "kind": "notes", "data": {"a": 1}}"#,
            "PW0108 at /context/0/kind: `notes` is a kind of data that nothing refers to (there are `input`, `state` \
             and `data`) [\"notes\"]",
        ),
        (
            r#"{"type": "data", "_instance": "a", "data": {}}"#,
            "PW0108 at /context/0/_instance: no instance is called `a` (there are no instances; `_instance` of `state` and `input` messages creates them) [\"a\"]",
        ),
        (
            r#"{"type": "plan", "plan": [], "mode": "soon"}"#,
            "PW0108 at /context/0/mode: `soon` is not a mode (`eager` runs the plan, `lazy` checks and shows it) \
             [\"soon\"]",
        ),
    ];
    for (message, wanted) in cases {
        check(
            &format!(r#"{{"context": [{message}], "calls": [{{"_tool": "t"}}]}}"#),
            wanted,
        );
    }
}

#[test]
fn plans() {
    let no_calls = "the plan has no `calls` (add `calls`, or a message `{\"type\": \"plan\", \"plan\": [calls]}` to \
                    the context)";
    let cases = [
        (r#"{"context": []}"#.to_owned(), format!("PW0103: {no_calls} [{{\"context\": []}}]")),
        (r#"{"call": []}"#.to_owned(), format!("PW0103: {no_calls} [{{\"call\": []}}]\n\
            PW0105 at /call: the plan has an unknown field `call` (did you mean `calls`?) [\"call\"]")),
        (r#"{"calls": {}}"#.to_owned(), "PW0104 at /calls: expected a list in `calls`, found an object [{}]".to_owned()),
        (
            r#"{"calls": [], "context": 1, "mode": 2}"#.to_owned(),
            "PW0104 at /context: expected a list in `context`, found a number [1]\n\
             PW0104 at /mode: expected text in `mode`, found a number [2]".to_owned(),
        ),
        (
            r#"{"context": [{"type": "plan"}]}"#.to_owned(),
            "PW0103 at /context/0: the plan message has no `plan` (add `plan`) [{\"type\": \"plan\"}]".to_owned(),
        ),
        (
            r#"[{"type": "plan", "plan": []}, {"type": "plan", "plan": [{"_tool": "t"}], "steps": 1}]"#.to_owned(),
            "warning PW0107 at /0: a later plan message replaces this one (leave one of them out) \
             [{\"type\": \"plan\", \"plan\": []}]\n\
             PW0105 at /1/steps: the plan message has an unknown field `steps` (it may have `type`, `plan`, `mode`) \
             [\"steps\"]".to_owned(),
        ),
        (
            r#"{"calls": [{"_tool": "t"}], "output": ["†x"]}"#.to_owned(),
            format!("PW0401 at /output/0: `x` is not a kind of data {FORM} [†x]"),
        ),
    ];
    for (text, wanted) in cases {
        check(&text, &wanted);
    }
}
