//! Plans that are saved: by name or id, all versions, never a path.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{planwright, stderr, stdout};

const GREET: &str = r#"{"name": "greet", "inputs": {"who": {}, "mood": {"default": "fine"}},
  "steps": [{"id": "hello", "value": "Hello ${inputs.who}!"}], "output": "${hello}"}"#;

/// A folder with a file `greet.json`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("greet.json"), GREET).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = planwright(folder);
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs a command that succeeds. Returns its standard output.
fn data(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{args:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

/// Runs a command that is refused. Returns its standard error.
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{args:?}: {}",
        stdout(&output)
    );
    stderr(&output)
}

fn list(folder: &Path, args: &[&str]) -> Value {
    let args = [&["list", "--format", "json"], args].concat();
    serde_json::from_str(&data(folder, &args)).unwrap()
}

#[test]
fn a_saved_plan_stands_in_for_its_file() {
    let folder = folder();
    let path = folder.path();
    assert_eq!(data(path, &["save", "greet.json"]), "greet@1\n");
    fs::rename(path.join("greet.json"), path.join("greet")).unwrap();
    let run_file = run(path, &["run", "greet", "--var", "who=Ada"]);
    let note = "note: the file `greet` is run, not the stored plan `greet@1`";
    assert!(stderr(&run_file).contains(note), "{}", stderr(&run_file));
    fs::remove_file(path.join("greet")).unwrap();
    let plans = list(path, &[]);
    let id = plans[0]["id"].as_str().unwrap();
    for name in ["greet", "greet@1", id, &id[..6]] {
        assert_eq!(
            data(path, &["run", name, "--var", "who=Ada"]),
            "Hello Ada!\n",
            "{name}"
        );
    }
    data(path, &["check", "greet", "--var", "who=Ada"]);
    assert!(data(path, &["show", "greet", "--var", "who=Ada"]).contains("hello"));
    assert_eq!(data(path, &["show", "greet", "--as", "source"]), GREET);
    let converted = run(path, &["convert", "greet", "--to", "agentle"]);
    assert!(stderr(&converted).contains("cannot express the plan's name"));
    assert_eq!(
        data(path, &["save", "greet", "--name", "other"]),
        "other@1\n"
    );
}

#[test]
fn a_change_is_a_version_and_none_is_none() {
    let folder = folder();
    let path = folder.path();
    data(path, &["save", "greet.json"]);
    let output = run(path, &["save", "greet.json"]);
    assert!(
        stderr(&output).contains("is already version 1"),
        "{}",
        stderr(&output)
    );
    fs::write(path.join("greet.json"), GREET.replace("Hello", "Good day")).unwrap();
    assert_eq!(data(path, &["save", "greet.json"]), "greet@2\n");
    assert_eq!(
        data(path, &["run", "greet", "--var", "who=Ada"]),
        "Good day Ada!\n"
    );
    assert_eq!(
        data(path, &["run", "greet@1", "--var", "who=Ada"]),
        "Hello Ada!\n"
    );
    let versions = list(path, &["greet"]);
    assert_eq!(versions.as_array().unwrap().len(), 2);
    let plans = list(path, &[]);
    assert_eq!(plans.as_array().unwrap().len(), 1);
    assert_eq!(
        (&plans[0]["name"], &plans[0]["version"]),
        (&json!("greet"), &json!(2))
    );
    assert_eq!(plans[0]["dialect"], "native");
    let inputs = plans[0]["inputs"].as_array().unwrap();
    let known: Vec<_> = inputs
        .iter()
        .map(|input| (&input["name"], &input["required"]))
        .collect();
    assert_eq!(
        known,
        [
            (&json!("who"), &json!(true)),
            (&json!("mood"), &json!(false))
        ]
    );
    let text = data(path, &["list"]);
    assert!(
        text.starts_with("greet@2  ") && text.ends_with("  who, mood?\n"),
        "{text}"
    );

    data(path, &["delete", "greet@2"]);
    assert_eq!(
        data(path, &["run", "greet", "--var", "who=Ada"]),
        "Hello Ada!\n"
    );
    data(path, &["delete", "greet"]);
    assert_eq!(list(path, &[]), json!([]));
}

#[test]
fn a_name_is_never_a_path() {
    let folder = folder();
    let path = folder.path();
    for name in ["../greet", "a/b", ".greet", "", "a b"] {
        let log = refused(path, &["save", "greet.json", "--name", name]);
        assert!(log.contains("cannot be the name of a plan"), "{log}");
    }
    data(path, &["save", "greet.json"]);
    for name in ["./greet", "../greet", "greet/", "gree/../greet"] {
        let log = refused(path, &["run", name, "--var", "who=Ada"]);
        assert!(log.contains("cannot read"), "{log}");
    }
    for command in ["delete", "list"] {
        let log = refused(path, &[command, "../greet"]);
        assert!(log.contains("there is no plan `../greet`"), "{log}");
    }
    // A file goes first.
    fs::write(path.join("greet"), GREET.replace("Hello", "Bye")).unwrap();
    assert_eq!(
        data(path, &["run", "greet", "--var", "who=Ada"]),
        "Bye Ada!\n"
    );
    assert_eq!(
        data(path, &["run", "greet@1", "--var", "who=Ada"]),
        "Hello Ada!\n"
    );
}

#[test]
fn missing_plans_are_reported() {
    let folder = folder();
    let path = folder.path();
    let log = refused(path, &["run", "nothing"]);
    assert!(
        log.contains("cannot read `nothing`") && log.contains("planwright list"),
        "{log}"
    );
    assert!(
        !path.join(".local").exists(),
        "to look for a plan creates nothing"
    );
    let output = run(path, &["list"]);
    assert!(stderr(&output).contains("no plans"), "{}", stderr(&output));
    data(path, &["save", "greet.json"]);
    let log = refused(path, &["run", "greet@7"]);
    assert!(log.contains("there is no plan `greet, version 7`"), "{log}");
    data(path, &["list", "--store", "elsewhere.db"]);
    let log = refused(path, &["run", "greet", "--store", "elsewhere.db"]);
    assert!(log.contains("cannot read `greet`"), "{log}");
}

#[test]
fn a_plan_with_problems_is_not_saved() {
    let folder = folder();
    let path = folder.path();
    for bad in [
        r#"{"steps": [{"id": "a", "value": "${"}]}"#,
        r#"{"steps": [{"id": "a", "tool": "t", "args": {"x": "${nope.y}"}}]}"#,
        r#"{"steps": [{"id": "a", "value": "${b}"}, {"id": "b", "value": "${a}"}]}"#,
    ] {
        fs::write(path.join("bad.json"), bad).unwrap();
        for command in [&["save"][..], &["convert", "--to", "lines"]] {
            let output = run(path, &[command, &["bad.json"]].concat());
            assert_eq!(output.status.code(), Some(3), "{bad}");
            let log = stderr(&output);
            assert!(log.contains("; nothing was "), "{log}");
        }
    }
    assert_eq!(list(path, &[]), json!([]));
    fs::write(
        path.join("no name.json"),
        r#"{"steps": [{"id": "a", "value": 1}]}"#,
    )
    .unwrap();
    let log = refused(path, &["save", "no name.json"]);
    assert!(log.contains("--name NAME"), "{log}");
    assert_eq!(
        data(path, &["save", "no name.json", "--name", "named"]),
        "named@1\n"
    );
}

#[test]
fn all_stored_plans_are_checked_at_once() {
    let folder = folder();
    let path = folder.path();
    let check = |more: &[&str], status: i32| {
        let args = [&["check", "--saved", "--simulate", "tools.json"], more].concat();
        let output = run(path, &args);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        output
    };
    let tools = r#"{"tools": {"inbox.read": {"returns": {}}, "mail.send": {"returns": 1}}}"#;
    fs::write(path.join("tools.json"), tools).unwrap();
    let none = check(&[], 0);
    assert_eq!(stdout(&none), "");
    assert!(stderr(&none).contains("no plans"), "{}", stderr(&none));

    let reply = r#"{"steps": [{"id": "mail", "tool": "inbox.read"},
        {"id": "send", "tool": "mail.send", "args": {"to": "${mail.from}"}}]}"#;
    fs::write(path.join("reply.json"), reply).unwrap();
    // An older version does not count.
    fs::write(
        path.join("old.json"),
        r#"{"steps": [{"id": "a", "tool": "gone"}]}"#,
    )
    .unwrap();
    data(path, &["save", "old.json", "--name", "greet"]);
    data(path, &["save", "greet.json"]);
    data(path, &["save", "reply.json"]);
    fs::write(
        path.join("plain.json"),
        r#"{"steps": [{"id": "a", "tool": "inbox.read"}]}"#,
    )
    .unwrap();
    data(path, &["save", "plain.json"]);
    // A file of the same name is not meant.
    fs::write(path.join("reply@1"), "no plan").unwrap();
    let sound = check(&[], 0);
    assert_eq!(
        stdout(&sound),
        "greet@2  warns\nplain@1  sound\nreply@1  sound\n"
    );

    let asks = check(&["--flow"], 0);
    assert_eq!(
        stdout(&asks),
        "greet@2  warns\nplain@1  sound\nreply@1  asks\n"
    );
    assert!(stderr(&asks).contains("PW1001"), "{}", stderr(&asks));
    let strict = check(&["--flow", "--strict"], 3);
    assert_eq!(
        stdout(&strict),
        "greet@2  rejected\nplain@1  sound\nreply@1  rejected\n"
    );

    data(path, &["save", "old.json"]);
    let rejected = check(&["--flow", "--format", "json"], 3);
    let found: Value = serde_json::from_str(&stdout(&rejected)).unwrap();
    let plans: Vec<Value> = found["plans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| {
            let codes = plan["diagnostics"].as_array().unwrap().iter();
            let codes: Vec<&Value> = codes.map(|one| &one["code"]).collect();
            json!([plan["name"], plan["version"], plan["verdict"], codes])
        })
        .collect();
    assert_eq!(found["ok"], json!(false));
    assert_eq!(found["diagnostics"], json!([]));
    assert_eq!(
        plans,
        [
            json!(["greet", 2, "warns", ["PW0801"]]),
            json!(["old", 1, "rejected", ["PW0201"]]),
            json!(["plain", 1, "sound", []]),
            json!(["reply", 1, "asks", ["PW1001"]]),
        ]
    );

    // A rule that covers nothing is named once, whatever plans there are.
    data(path, &["delete", "old"]);
    fs::write(
        path.join("planwright.toml"),
        "[flow]\nprivate = [\"crm.*\"]\n",
    )
    .unwrap();
    let unused = check(&[], 0);
    assert_eq!(
        stdout(&unused),
        "greet@2  warns\nplain@1  sound\nreply@1  asks\n"
    );
    assert_eq!(
        stderr(&unused).matches("PW1004").count(),
        1,
        "{}",
        stderr(&unused)
    );
}

#[test]
fn a_check_is_about_one_plan_or_all() {
    let folder = folder();
    let path = folder.path();
    assert!(refused(path, &["check"]).contains("<PLAN>"));
    for args in [
        ["check", "--saved", "greet.json"].as_slice(),
        &["check", "--saved", "--var", "who=me"],
        &["check", "--saved", "--dialect", "native"],
    ] {
        assert!(
            refused(path, args).contains("cannot be used with"),
            "{args:?}"
        );
    }
}

#[test]
fn a_run_is_handed_on_as_one_file() {
    let folder = folder();
    let path = folder.path();
    data(path, &["run", "greet.json", "--var", "who=<b>Ada</b>"]);
    let page = data(path, &["show", "last", "--as", "html"]);
    assert!(page.starts_with("<!doctype html>"), "{page}");
    for part in [
        "<title>greet, run ",
        "<svg ",
        "id=\"step-0\"",
        "href=\"#step-0\"",
        "Hello &lt;b&gt;Ada&lt;/b&gt;!",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv=\"refresh"));
    let image = data(
        path,
        &["show", "greet.json", "--var", "who=Ada", "--as", "svg"],
    );
    assert!(
        image.starts_with("<svg ") && image.contains(">hello</text>"),
        "{image}"
    );
}
