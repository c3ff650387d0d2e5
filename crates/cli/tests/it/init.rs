//! Files to begin with.

use std::fs;

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

#[test]
fn files_to_begin_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let give = |args: &[&str]| planwright(path).args(args).output().unwrap();

    let output = give(&["init", "new/folder", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let written = json!(["new/folder/planwright.toml", "new/folder/mcp.json"]);
    assert_eq!(
        report,
        json!({"schema": "planwright.init/1", "written": written, "kept": []})
    );
    let output = planwright(&path.join("new/folder"))
        .arg("config")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).starts_with("project  planwright.toml"),
        "{}",
        stdout(&output)
    );

    // Existing files are not changed.
    fs::write(path.join(".mcp.json"), "{}").unwrap();
    let output = give(&["init"]);
    assert_eq!(
        (stdout(&output).as_str(), output.status.code()),
        ("planwright.toml\n", Some(0))
    );
    assert!(
        stderr(&output).contains("`.mcp.json` already exists"),
        "{}",
        stderr(&output)
    );
    assert!(!path.join("mcp.json").exists());
    fs::write(path.join("planwright.toml"), "# mine").unwrap();
    let output = give(&["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("`planwright.toml` already exists"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        fs::read_to_string(path.join("planwright.toml")).unwrap(),
        "# mine"
    );
    assert_eq!(give(&["init", "--force"]).status.code(), Some(0));
    assert!(
        fs::read_to_string(path.join("planwright.toml"))
            .unwrap()
            .len()
            > 100
    );
}

#[test]
fn what_is_commented_out_holds_once_its_marks_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let config = || {
        planwright(path)
            .args(["config", "--format", "json"])
            .output()
            .unwrap()
    };
    let init = planwright(path).arg("init").output().unwrap();
    assert_eq!(init.status.code(), Some(0), "{}", stderr(&init));
    let file = path.join("planwright.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\n#[flow]\n"), "{text}");
    // Nothing of it holds yet.
    let shown = stdout(&config());
    assert!(!shown.contains("flow."), "{shown}");

    let lines = text.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => setting,
        _ => line,
    });
    fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let output = config();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let settings = shown["settings"].as_array().unwrap();
    for (key, value) in [("flow.guard", "*:channel"), ("flow.violation", "deny")] {
        let is_set = |setting: &Value| setting["key"] == key && setting["value"] == value;
        assert!(settings.iter().any(is_set), "{key}: {shown}");
    }
}
