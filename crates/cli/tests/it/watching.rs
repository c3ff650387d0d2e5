//! `planwright check --watch`: a check again whenever a file changes. Each test waits for what the program prints.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::program::{planwright, stderr};

const PLAN: &str = "{\"steps\": [{\"id\": \"a\", \"tool\": \"say\"}]}";

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "plan.json", PLAN);
    write(folder.path(), "tools.json", "{\"tools\": {\"say\": {}}}");
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

/// A running `check --watch`, and the lines that it prints.
pub(crate) struct Watching {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Watching {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::over(&["--simulate", "tools.json"], folder, arguments)
    }

    /// Starts over the tools that `tools` names.
    pub(crate) fn over(tools: &[&str], folder: &Path, arguments: &[&str]) -> Self {
        let mut process = planwright(folder)
            .args(["check", "--watch", "--format", "json"])
            .args(tools)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines }
    }

    /// The next document: whether the plan is sound.
    pub(crate) fn next(&mut self) -> bool {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let document: Value = serde_json::from_str(&line).unwrap();
        document["ok"].as_bool().unwrap()
    }

    /// Interrupts it; its exit status.
    pub(crate) fn interrupt(self) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        kill(pid, Signal::SIGINT).unwrap();
        let output = self.process.wait_with_output().unwrap();
        assert!(!stderr(&output).contains("error:"), "{}", stderr(&output));
        output.status.code()
    }
}

#[test]
fn a_changed_plan_is_checked_again() {
    let folder = scene();
    let mut watching = Watching::start(folder.path(), &["plan.json"]);
    assert!(watching.next());
    write(folder.path(), "plan.json", &PLAN.replace("say", "sai"));
    assert!(!watching.next());
    // Editors write a new file in place of the old one.
    write(folder.path(), "next.json", PLAN);
    fs::rename(
        folder.path().join("next.json"),
        folder.path().join("plan.json"),
    )
    .unwrap();
    assert!(watching.next());
    assert_eq!(watching.interrupt(), Some(0));
}

#[test]
fn other_files_of_the_check_count_as_well() {
    let folder = scene();
    let library = folder.path().join("library");
    fs::create_dir(&library).unwrap();
    let plan = "{\"steps\": [{\"id\": \"a\", \"plan\": \"inner\"}]}";
    write(folder.path(), "plan.json", plan);
    write(&library, "inner.json", PLAN);
    let mut watching = Watching::start(folder.path(), &["plan.json", "--library", "library"]);
    assert!(watching.next());
    write(&library, "inner.json", &PLAN.replace("say", "sai"));
    assert!(!watching.next());
    write(
        folder.path(),
        "tools.json",
        "{\"tools\": {\"say\": {}, \"sai\": {}}}",
    );
    assert!(watching.next());
    write(
        folder.path(),
        "planwright.toml",
        "[tools]\ndeny = [\"sai\"]\n",
    );
    assert!(!watching.next());
    assert_eq!(watching.interrupt(), Some(3));
}

#[test]
fn several_plans_are_one_document_a_line() {
    let folder = scene();
    write(folder.path(), "other.json", PLAN);
    let mut watching = Watching::start(folder.path(), &["plan.json", "other.json"]);
    assert!(watching.next());
    write(folder.path(), "other.json", "{");
    assert!(!watching.next());
    assert_eq!(watching.interrupt(), Some(3));
}

#[test]
fn standard_input_does_not_change() {
    let folder = scene();
    let output = planwright(folder.path())
        .args(["check", "--watch", "-"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`--watch` needs a plan in a file"));
}

#[test]
fn runs_are_listed_again_when_one_ends() {
    let scene = scene();
    let mut process = planwright(scene.path())
        .args(["runs", "--watch", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    assert_eq!(next()["runs"], Value::Array(Vec::new()));
    let run = planwright(scene.path())
        .args(["run", "plan.json", "--simulate", "tools.json"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", stderr(&run));
    let ended = loop {
        let document = next();
        if document["runs"][0]["status"] == "succeeded" {
            break document;
        }
    };
    assert_eq!(ended["runs"][0]["done"], 1);
    let pid = Pid::from_raw(i32::try_from(process.id()).unwrap());
    kill(pid, Signal::SIGINT).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
