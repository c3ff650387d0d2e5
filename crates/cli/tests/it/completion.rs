//! Completion in a shell: what the program offers for a command line.

use std::fs;
use std::path::Path;

use crate::program::{planwright, stderr, stdout};

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "plan.json",
        "{\"name\": \"greet\", \"steps\": [{\"id\": \"first\", \"tool\": \"say\"}, {\"id\": \"second\", \"tool\": \"say\"}]}",
    );
    write("tools.json", "{\"tools\": {\"say\": {}, \"sing\": {}}}");
    folder
}

fn succeed(folder: &Path, arguments: &[&str]) {
    let output = planwright(folder).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// The values that are offered for the last of `words`, in the way in which the script for bash asks.
fn offered(folder: &Path, words: &[&str]) -> Vec<String> {
    let output = planwright(folder)
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .args(["--", "planwright"])
        .args(words)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let offered = stdout(&output);
    let mut offered: Vec<String> = offered.lines().map(str::to_owned).collect();
    offered.sort();
    offered
}

#[test]
fn commands_and_flags() {
    let folder = scene();
    assert_eq!(offered(folder.path(), &["expla"]), ["explain"]);
    assert_eq!(offered(folder.path(), &["check", "--wat"]), ["--watch"]);
    // Flags do not stand between names.
    let commands = offered(folder.path(), &[""]);
    assert!(commands.contains(&"explain".to_owned()), "{commands:?}");
    assert!(!commands.contains(&"--color".to_owned()), "{commands:?}");
    let flags = offered(folder.path(), &["explain", "--"]);
    assert!(flags.contains(&"--color".to_owned()), "{flags:?}");
    assert_eq!(
        offered(folder.path(), &["show", "plan.json", "--as", "s"]),
        ["source", "svg"]
    );
}

#[test]
fn plans_runs_and_steps() {
    let folder = scene();
    let folder = folder.path();
    succeed(folder, &["save", "plan.json"]);
    let run = planwright(folder)
        .args(["run", "greet", "--simulate", "tools.json"])
        .args(["--format", "json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_str(&stdout(&run)).unwrap();
    let id = report["run"].as_str().unwrap();
    assert_eq!(offered(folder, &["run", "gre"]), ["greet"]);
    assert_eq!(offered(folder, &["run", "pla"]), ["plan.json"]);
    assert_eq!(offered(folder, &["delete", ""]), ["greet"]);
    let runs = offered(folder, &["logs", ""]);
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert!(id.starts_with(&runs[0]), "{id} {runs:?}");
    assert_eq!(
        offered(folder, &["logs", &runs[0], ""]),
        ["first", "second"]
    );
    assert_eq!(
        offered(folder, &["show", "plan.json", "--step", "s"]),
        ["second"]
    );
    // Without a run, the newest of the project.
    assert_eq!(offered(folder, &["show", "--step", "f"]), ["first"]);
}

#[test]
fn tools_clients_and_codes() {
    let folder = scene();
    let folder = folder.path();
    assert_eq!(
        offered(folder, &["call", "--simulate", "tools.json", "s"]),
        ["say", "sing"]
    );
    assert_eq!(
        offered(folder, &["wrap", "c"]),
        [
            "claude-code",
            "claude-desktop",
            "cline",
            "codex",
            "continue",
            "cursor"
        ]
    );
    assert_eq!(offered(folder, &["explain", "PW100"]).len(), 4);
}

/// Without a store, nothing is offered, and none is made.
#[test]
fn an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let flags = offered(folder.path(), &["logs", ""]);
    assert!(flags.iter().all(|word| word.starts_with("--")), "{flags:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_shell_has_a_script() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = planwright(folder.path())
            .args(["completions", shell])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = stdout(&output);
        assert!(script.contains("COMPLETE"), "{shell}: {script}");
        assert!(script.contains("planwright"), "{shell}: {script}");
    }
}
