//! Runs that are named by their position, and plans that are named by their file.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};
use crate::prompts::{assert_screen, screen};

/// A repository with a plan that has no name, and a second folder beside it.
fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["here/.git", "here/sub", "there"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let plan = json!({"steps": [{"id": "a", "value": 1}]}).to_string();
    for name in ["here", "there"] {
        fs::write(folder.path().join(name).join("one.json"), &plan).unwrap();
    }
    folder
}

/// Runs the program in a folder of the scene, with the scene as home.
fn run(scene: &Path, folder: &str, arguments: &[&str]) -> Output {
    planwright(&scene.join(folder))
        .env("HOME", scene)
        .args(arguments)
        .output()
        .unwrap()
}

fn start(scene: &Path, folder: &str) -> String {
    let output = run(scene, folder, &["run", "one.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    report["run"].as_str().unwrap().to_owned()
}

/// The run whose log a command prints.
fn named(scene: &Path, folder: &str, arguments: &[&str]) -> String {
    let arguments = [&["logs"], arguments, &["--format", "json"]].concat();
    let output = run(scene, folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let log: Value = serde_json::from_str(&stdout(&output)).unwrap();
    log["run"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_newest_runs_of_the_project_have_positions() {
    let scene = scene();
    let path = scene.path();
    let first = start(path, "here");
    let second = start(path, "here");
    let other = start(path, "there");
    for (folder, arguments, expected) in [
        ("here", &[][..], &second),
        ("here", &["last"], &second),
        ("here", &["@1"], &second),
        ("here", &["@2"], &first),
        // The whole repository is the project.
        ("here/sub", &[], &second),
        ("there", &[], &other),
        ("there", &[&*first], &first),
    ] {
        assert_eq!(
            &named(path, folder, arguments),
            expected,
            "{folder} {arguments:?}"
        );
    }
    for command in ["show", "replay", "export", "resume"] {
        let output = run(path, "here", &[command]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{command}: {}",
            stderr(&output)
        );
    }
    let output = run(path, "here", &["show", "@2"]);
    assert!(stdout(&output).contains(&first[..8]), "{}", stdout(&output));
    let output = run(path, "here", &["diff"]);
    let heading = format!("{} → {}\n", &first[..8], &second[..8]);
    assert!(stdout(&output).starts_with(&heading), "{}", stdout(&output));
}

#[test]
fn positions_without_a_run_are_explained() {
    let scene = scene();
    let path = scene.path();
    start(path, "here");
    for (folder, selector, message) in [
        ("there", "last", "error: no run of `"),
        ("here", "@2", "error: there is no `@2`: `"),
        ("here", "@0", "error: there is no run `@0`"),
    ] {
        for command in ["logs", "resume", "show"] {
            let output = run(path, folder, &[command, selector]);
            assert_eq!(output.status.code(), Some(2), "{command} {selector}");
            let error = stderr(&output);
            let is_known = error.starts_with(message) || (command, selector) == ("show", "@0");
            assert!(is_known, "{command} {selector}: {error}");
        }
    }
}

#[test]
fn a_plan_without_a_name_is_listed_by_its_file() {
    let scene = scene();
    start(scene.path(), "here");
    let output = run(scene.path(), "here", &["runs"]);
    let runs = stdout(&output);
    assert!(runs.contains("  one.json  "), "{runs}");
    let output = run(scene.path(), "here", &["runs", "--format", "json"]);
    let runs: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(runs["runs"][0]["plan"], Value::Null);
}

#[test]
fn times_are_local() {
    let scene = scene();
    start(scene.path(), "here");
    let at = |zone: &str| {
        let output = planwright(&scene.path().join("here"))
            .env("HOME", scene.path())
            .env("TZ", zone)
            .arg("logs")
            .output()
            .unwrap();
        stdout(&output)
    };
    assert!(at("UTC").contains(" UTC  planwright"), "{}", at("UTC"));
    assert!(
        at("Asia/Tokyo").contains(" JST  planwright"),
        "{}",
        at("Asia/Tokyo")
    );
}

#[test]
fn a_run_is_named_at_its_start_and_its_end() {
    let scene = scene();
    let folder = scene.path().join("here");
    let shown = screen(&folder, "run one.json", &[]);
    assert_screen("run-id", &shown);
    let shown = screen(&folder, "run one.json --no-store", &[]);
    assert!(!shown.contains("run ID"), "{shown}");
}

#[test]
fn plans_in_files_are_compared_by_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
    write(
        "old.json",
        r#"{"name": "p", "steps": [{"id": "a", "tool": "t", "args": {"x": 1}}, {"id": "b", "tool": "t"}], "output": ["a"]}"#,
    );
    write(
        "new.json",
        r#"{"name": "q", "steps": [{"id": "a", "tool": "t", "args": {"x": 2}}, {"id": "c", "tool": "t"}], "output": ["a"]}"#,
    );
    let diff = |arguments: &[&str]| {
        let output = planwright(path)
            .arg("diff")
            .args(arguments)
            .output()
            .unwrap();
        (output.status.code(), stdout(&output))
    };
    let (exit, text) = diff(&["old.json", "new.json"]);
    assert_eq!(exit, Some(1));
    insta::assert_snapshot!(text, @r#"
    old.json → new.json
    + c
    - b
    ~ a
        /args/x: 1 → 2
    plan/name: "p" → "q"
    "#);
    let (_, text) = diff(&["old.json", "new.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["added"], json!(["c"]));
    assert_eq!(report["removed"], json!(["b"]));
    assert_eq!(report["changed"][0]["changes"][0]["pointer"], "/args/x");
    assert_eq!(report["plan"][0]["pointer"], "/name");
    // The dialect does not matter.
    let converted = planwright(path)
        .args(["convert", "old.json", "--to", "lines", "-o", "old.txt"])
        .output()
        .unwrap();
    assert_eq!(converted.status.code(), Some(0), "{}", stderr(&converted));
    let (exit, text) = diff(&["old.json", "old.txt"]);
    assert_eq!(exit, Some(0), "{text}");
    write(
        "bad.json",
        r#"{"steps": [{"id": "a", "tool": 3}], "output": ["a"]}"#,
    );
    assert_eq!(diff(&["old.json", "bad.json"]).0, Some(3));
}
