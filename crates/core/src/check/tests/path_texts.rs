//! Texts and numbers in place of the outputs of steps.

use super::fixture::CheckFixture;

const TOOLS: &str = r#"{
    "e": {},
    "open": {"out": {"type": "object", "properties": {"temp": {"type": "number"}}, "required": ["temp"]}}
}"#;

#[track_caller]
fn check(output: &str, expected: &[&str]) {
    let text = format!(
        r#"{{"steps": [{{"id": "w", "tool": "open"}}, {{"id": "3", "tool": "e", "args": {{"a": "w.txt"}}}}], "output": {output}}}"#
    );
    CheckFixture::with_tools(TOOLS).expect(&text, expected);
}

#[test]
fn outputs_that_are_only_text() {
    check(
        r#"{"a": "${w.temp}", "b": "w", "c": "notes.txt", "d": "w.json"}"#,
        &[],
    );
    check(r#"{"a": 3}"#, &[]);
    check("7", &[]);
    check(
        r#"{"a": "w.temp"}"#,
        &[
            "?PW0401 at /output/a: `w.temp` is only text here, and not the output of a step (did you mean `${w.temp}`?)",
        ],
    );
    check(
        "3",
        &[
            r#"?PW0401 at /output: the output is the number 3, and not that of a step (write `"${steps['3']}"`)"#,
        ],
    );
    check(
        "0",
        &[
            r#"?PW0401 at /output: the output is the number 0, and not that of a step (write `"${w}"`)"#,
        ],
    );
}

#[test]
fn arguments_that_are_only_text() {
    let check = |argument: &str, expected: &[&str]| {
        let text = format!(
            r#"{{"steps": [{{"id": "w", "tool": "open"}}, {{"id": "s", "tool": "e", "args": {{"a": "{argument}"}}}}]}}"#
        );
        CheckFixture::with_tools(TOOLS).expect(&text, expected);
    };
    check("w.other", &[]);
    check("w.txt", &[]);
    check("w", &[]);
    check(
        "w.temp",
        &[
            "?PW0401 at /steps/1/args/a: `w.temp` is only text here, and not the output of a step (did you mean `${w.temp}`?)",
        ],
    );
}
