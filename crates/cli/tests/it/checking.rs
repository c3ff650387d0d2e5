//! `planwright check` of several plans, and of plans in one long line.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};
use crate::prompts::{assert_screen, screen};

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, value: Value| {
        fs::write(folder.path().join(name), value.to_string()).unwrap();
    };
    write("tools.json", json!({"tools": {"say": {}}}));
    let step = json!({"id": "a", "tool": "say"});
    write("good.json", json!({"steps": [step], "output": ["a"]}));
    let steps: Vec<Value> = (0..20)
        .map(|index| json!({"id": format!("s{index}"), "tool": if index == 12 { "sai" } else { "say" }}))
        .collect();
    write("long.json", json!({"steps": steps, "output": ["s0"]}));
    write(
        "odd.json",
        json!({"inputs": {"n": {"default": 1}}, "steps": [step]}),
    );
    folder
}

fn check(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = planwright(folder)
        .args(["check", "--simulate", "tools.json"])
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn several_plans() {
    let folder = scene();
    let (exit, verdicts, messages) = check(folder.path(), &["good.json", "long.json", "odd.json"]);
    assert_eq!(exit, Some(3));
    insta::assert_snapshot!(verdicts, @r"
    good.json  sound
    long.json  rejected
    odd.json   warns
    ");
    insta::assert_snapshot!(messages, @r#"
    long.json:1:332: error PW0201: there is no tool `sai` (did you mean `say`?)
        …,{"id":"s11","tool":"say"},{"id":"s12","tool":"sai"},{"id":"s13","tool":"s…
                                                       ^^^^^ step `s12`
    1 error
    odd.json:1:16: warning PW0801: the input `n` is never read (remove it, or refer to it)
        {"inputs":{"n":{"default":1}},"steps":[{"id":"a","tool":"say"}]}
                       ^^^^^^^^^^^^^
    1 warning
    3 plans: 1 sound, 1 with warnings, 1 rejected
    "#);
}

#[test]
fn the_worst_status_of_several_plans() {
    let folder = scene();
    for (arguments, expected) in [
        (&["good.json", "good.json"][..], 0),
        (&["good.json", "odd.json"], 0),
        (&["good.json", "odd.json", "--strict"], 3),
        (&["good.json", "none.json"], 2),
        (&["none.json", "long.json"], 3),
    ] {
        let (exit, ..) = check(folder.path(), arguments);
        assert_eq!(exit, Some(expected), "{arguments:?}");
    }
    let (exit, verdicts, messages) = check(folder.path(), &["good.json", "none.json"]);
    assert_eq!(exit, Some(2));
    assert_eq!(verdicts, "good.json  sound\nnone.json  unreadable\n");
    assert!(
        messages.contains("error: cannot read `none.json`") && messages.contains("hint: "),
        "{messages}"
    );
}

#[test]
fn several_plans_as_json() {
    let folder = scene();
    let (exit, text, _) = check(
        folder.path(),
        &["good.json", "long.json", "none.json", "--format", "json"],
    );
    assert_eq!(exit, Some(3));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "planwright.checks/1");
    assert_eq!(report["ok"], false);
    let plans: Vec<(&str, &str)> = report["plans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| {
            (
                plan["name"].as_str().unwrap(),
                plan["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        plans,
        [
            ("good.json", "sound"),
            ("long.json", "rejected"),
            ("none.json", "unreadable")
        ]
    );
    assert_eq!(report["plans"][1]["diagnostics"][0]["code"], "PW0201");
    assert_eq!(
        report["plans"][2]["error"],
        "cannot read `none.json`: no such file or directory"
    );
}

#[test]
fn a_plan_in_one_line_on_a_terminal() {
    let folder = scene();
    let shown = screen(folder.path(), "check long.json --simulate tools.json", &[]);
    assert_screen("check", &shown);
}

#[test]
fn a_plan_of_the_library_is_found_by_its_name() {
    let folder = scene();
    let library = folder.path().join("library");
    fs::create_dir(&library).unwrap();
    let step = |tool: &str| json!({"steps": [{"id": "a", "tool": tool}], "output": ["a"]});
    fs::write(library.join("greet.json"), step("say").to_string()).unwrap();
    let arguments = ["greet", "--library", "library"];
    let (exit, _, messages) = check(folder.path(), &arguments);
    assert_eq!(exit, Some(0), "{messages}");
    assert_eq!(messages, "the plan is sound: 1 step\n");
    for command in ["run", "show", "flow"] {
        let output = planwright(folder.path())
            .args([command, "--simulate", "tools.json"])
            .args(arguments)
            .output()
            .unwrap();
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{command}: {messages}");
    }
    // A file of the name comes first.
    fs::write(folder.path().join("greet"), step("sai").to_string()).unwrap();
    let (exit, _, messages) = check(folder.path(), &arguments);
    assert_eq!(exit, Some(3));
    assert!(messages.starts_with("greet:1:"), "{messages}");
    let (exit, _, messages) = check(folder.path(), &["gret", "--library", "library"]);
    assert_eq!(exit, Some(2));
    assert!(messages.contains("gret"), "{messages}");
}

#[test]
fn the_structure_is_checked_without_tools() {
    let folder = scene();
    let check = |plan: Value| {
        fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
        let output = planwright(folder.path())
            .args(["check", "plan.json", "--without-tools"])
            .output()
            .unwrap();
        (output.status.code(), stderr(&output))
    };
    let step =
        |id: &str, reads: &str| json!({"id": id, "tool": "mail.send", "args": {"to": reads}});
    let (status, messages) = check(json!({"steps": [step("a", "x"), step("b", "${a.id}")]}));
    assert_eq!(status, Some(0), "{messages}");
    assert_eq!(messages, "the structure of the plan is sound: 2 steps\n");
    let (status, messages) = check(json!({"steps": [step("b", "${a.id}")]}));
    assert_eq!(status, Some(3), "{messages}");
    assert!(messages.contains("PW0204"), "{messages}");
    // Rules about tools do not matter, and a name without a server is one of any.
    let rules = "[tools]\nallow = [\"shop.*\"]\n";
    fs::write(folder.path().join("planwright.toml"), rules).unwrap();
    let (status, messages) = check(json!({"steps": [{"id": "a", "tool": "say"}]}));
    assert_eq!(status, Some(0), "{messages}");
    let several = planwright(folder.path())
        .args(["check", "good.json", "plan.json", "--without-tools"])
        .output()
        .unwrap();
    assert_eq!(several.status.code(), Some(0), "{}", stderr(&several));
    let both = planwright(folder.path())
        .args([
            "check",
            "good.json",
            "--without-tools",
            "--simulate",
            "tools.json",
        ])
        .output()
        .unwrap();
    assert_eq!(both.status.code(), Some(2));
}
