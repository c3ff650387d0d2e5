//! Runs the program in a folder of its own.

use std::path::Path;
use std::process::{Command, Output};

/// The program, without anything of the machine's own settings.
pub(crate) fn planwright(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder)
        .env("NO_COLOR", "1");
    command
}

/// Returns the standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("data is UTF-8")
}

/// Returns the standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("standard error is UTF-8")
}

/// Looks at a call that waits for a decision, and approves it by its digest, as a script does.
pub(crate) fn approve(folder: &Path, run: &str, step: &str, more: &[&str]) -> Output {
    let store = more.iter().position(|argument| *argument == "--store");
    let store = store.map_or(&[][..], |at| &more[at..=at + 1]);
    let look = planwright(folder)
        .args(["approve", run, step, "--show", "--format", "json"])
        .args(store)
        .output()
        .unwrap();
    assert_eq!(look.status.code(), Some(0), "{}", stderr(&look));
    let call: serde_json::Value = serde_json::from_str(&stdout(&look)).unwrap();
    let digest = call["digest"].as_str().unwrap();
    planwright(folder)
        .args(["approve", run, step, "--digest", digest])
        .args(more)
        .output()
        .unwrap()
}
