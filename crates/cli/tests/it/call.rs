//! `planwright call`: one call, as a run.

use std::fs;
use std::path::Path;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{planwright, run_program, stderr, stdout};
use crate::prompts::{assert_screen, screen};

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tools = json!({"tools": {
        "shop.look": {
            "input_schema": {"type": "object", "properties": {"code": {"type": "string"}, "count": {"type": "integer"}}},
            "annotations": {"readOnlyHint": true},
            "echo": true
        },
        "shop.pay": {"annotations": {"destructiveHint": true}, "echo": true}
    }});
    fs::write(folder.path().join("tools.json"), tools.to_string()).unwrap();
    folder
}

fn call(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = planwright(folder)
        .args(["call", "--simulate", "tools.json"])
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

fn made(folder: &Path, arguments: &[&str]) -> Value {
    let (exit, text, error) = call(folder, &[arguments, &["--format", "json"]].concat());
    assert_eq!(exit, Some(0), "{error}");
    let report: Value = serde_json::from_str(&text).unwrap();
    report["calls"][0]["args"].clone()
}

#[test]
fn arguments_are_what_the_tool_takes() {
    let folder = scene();
    for (arguments, expected) in [
        (&["shop.look"][..], json!({})),
        (&["look"], json!({})),
        (
            &["shop.look", "code=02134", "count=3"],
            json!({"code": "02134", "count": 3}),
        ),
        (
            &[
                "shop.look",
                "code=${env.HOME}",
                "more={\"a\": [1]}",
                "word=a b",
            ],
            json!({"code": "${env.HOME}", "more": {"a": [1]}, "word": "a b"}),
        ),
        (
            &[
                "shop.look",
                "--args",
                r#"{"code": "a", "count": 1}"#,
                "count=2",
            ],
            json!({"code": "a", "count": 2}),
        ),
        (
            &["shop.look", "code=a=b", "word="],
            json!({"code": "a=b", "word": ""}),
        ),
    ] {
        assert_eq!(made(folder.path(), arguments), expected, "{arguments:?}");
    }
}

#[test]
fn a_call_is_a_run() {
    let folder = scene();
    let (exit, output, _) = call(folder.path(), &["shop.look", "code=x"]);
    assert_eq!(exit, Some(0));
    assert_eq!(output, "call_look:\n  code: x\n");
    let runs = planwright(folder.path()).arg("runs").output().unwrap();
    assert!(
        stdout(&runs).contains("succeeded  look"),
        "{}",
        stdout(&runs)
    );
}

#[test]
fn a_call_that_may_destroy_something_asks() {
    let folder = scene();
    let (exit, _, error) = call(folder.path(), &["shop.pay", "amount=3"]);
    assert_eq!(exit, Some(4), "{error}");
    assert!(error.contains("planwright approve"), "{error}");
    assert_eq!(
        call(folder.path(), &["shop.pay", "--approve", "none"]).0,
        Some(1)
    );
    assert_eq!(
        call(folder.path(), &["shop.pay", "--approve", "all"]).0,
        Some(0)
    );
    let shown = screen(
        folder.path(),
        "call shop.pay amount=3 --simulate tools.json",
        &[("[y]es", "y\n")],
    );
    assert_screen("call-of-a-tool", &shown);
}

#[test]
fn what_cannot_be_called_is_explained() {
    let folder = scene();
    let (exit, _, error) = call(folder.path(), &["shop.lok"]);
    assert_eq!(exit, Some(3));
    assert!(
        error.contains("PW0201") && error.contains("did you mean `shop.look`?"),
        "{error}"
    );
    let (exit, _, error) = call(folder.path(), &["shop.look", "count=many"]);
    assert_eq!(exit, Some(3));
    assert!(error.contains("PW0501"), "{error}");
    for (arguments, message) in [
        (
            &["shop.look", "code"][..],
            "error: the argument `code` has no name before a `=`",
        ),
        (
            &["shop.look", "=x"],
            "error: the argument `=x` has no name before a `=`",
        ),
        (
            &["shop.look", "--args", "[1]"],
            "error: `--args` is a list, not an object",
        ),
        (&["shop.look", "--args", "{"], "error: `--args` is not JSON"),
        (
            &["shop.look", "--args", "{\"count\": 1, \"count\": 9}"],
            "error: `--args` is not JSON: the key `count` occurs twice",
        ),
        (
            &["shop.look", "count=1", "count=2"],
            "error: the argument `count` is given twice",
        ),
        (
            &["shop.look", "more={\"x\": 1, \"x\": 2}"],
            "error: the value of `more` is ambiguous: the key `x` occurs twice",
        ),
    ] {
        let (exit, _, error) = call(folder.path(), arguments);
        assert_eq!(exit, Some(2), "{arguments:?}");
        assert!(error.starts_with(message), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_word_that_is_not_utf_8_is_a_usage_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = scene();
    let output = planwright(folder.path())
        .arg("call")
        .arg(OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_question_that_cannot_be_answered_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let question = json!({"ask": {"method": "elicitation/create", "params": {
        "message": "Really\u{202e} sure?", "requestedSchema": {"type": "object", "properties": {}}
    }}});
    let script = json!({"tools": [{"name": "get", "does": question}]});
    let servers = json!({"mcpServers": {"shop": {
        "command": fake_server::program(), "args": [script.to_string()]
    }}});
    fs::write(folder.path().join("mcp.json"), servers.to_string()).unwrap();
    let arguments = ["call", "shop.get", "--servers", "mcp.json", "--no-store"];
    let output = run_program(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let warning = "warning: the server `shop` asked `Really\\u{202e} sure?`; the question was cancelled, because this command cannot ask you\n";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
}
