//! A person at a pseudo-terminal, who answers each question once it is shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::decisions::{RUN, set_up};
use crate::program::{approve, run_program, stderr, stdout};
use crate::terminal::{Terminal, has_question};

/// The prompt of a conversation.
const PROMPT: &str = "\n> ";

/// Runs a command of the program with further variables. `person` gets what the terminal shows since the last keys, and returns the keys
/// that the person presses then. Returns the exit status and the whole output.
pub(crate) fn at_terminal(
    folder: &Path,
    arguments: &str,
    environment: &[(&str, &str)],
    mut person: impl FnMut(&str) -> Option<String>,
) -> (Option<i32>, String) {
    let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_planwright"));
    let environment = [&[("NO_COLOR", "1"), ("TERM", "xterm")], environment].concat();
    let mut terminal = Terminal::start(folder, &line, &environment);
    let (mut shown, mut since) = (Vec::new(), 0);
    loop {
        let bytes = terminal.shown();
        if bytes.is_empty() {
            break;
        }
        shown.extend_from_slice(bytes);
        if let Some(pressed) = person(&String::from_utf8_lossy(&shown[since..])) {
            since = shown.len();
            terminal.press(&pressed);
        }
    }
    (
        terminal.exit(),
        String::from_utf8_lossy(&shown).into_owned(),
    )
}

/// Runs a command of the program. The person answers each question with the next of these lines, and leaves a conversation after the last.
pub(crate) fn typed(
    folder: &Path,
    arguments: &str,
    environment: &[(&str, &str)],
    answers: &str,
) -> (Option<i32>, String) {
    let mut lines = answers.split_inclusive('\n');
    let (code, shown) = at_terminal(folder, arguments, environment, |since| {
        if has_question(since) {
            return lines.next().map(str::to_owned);
        }
        since.contains(PROMPT).then(|| "\u{4}".to_owned())
    });
    assert_eq!(lines.next(), None, "{shown}");
    (code, shown)
}

/// Approves the call that waits, as another process.
fn approve_elsewhere(folder: &Path) {
    let waiting = run_program(folder, &["waiting", "--format", "json"]);
    let waiting: Value = serde_json::from_str(&stdout(&waiting)).unwrap();
    let run = waiting["calls"][0]["run"].as_str().unwrap();
    let output = approve(folder, run, "pay", &[]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_decision_elsewhere_ends_the_question() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let mut is_decided = false;
    let (code, shown) = at_terminal(folder.path(), &RUN.join(" "), &[], |since| {
        if since.contains("[?]: ") && !std::mem::replace(&mut is_decided, true) {
            approve_elsewhere(folder.path());
        }
        None
    });
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("paid: 3"), "{shown}");
}

#[test]
fn an_editor_ends_with_its_question() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let (editor, temporary) = (
        folder.path().join("editor"),
        folder.path().join("temporary"),
    );
    fs::create_dir(&temporary).unwrap();
    // It would wait for its input.
    fs::write(&editor, "#!/bin/sh\necho editing \"$1\"\nexec cat\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let environment = [
        ("EDITOR", editor.to_str().unwrap()),
        ("TMPDIR", temporary.to_str().unwrap()),
    ];
    let mut is_decided = false;
    let (code, shown) = at_terminal(folder.path(), &RUN.join(" "), &environment, |since| {
        if since.contains("editing ") && !std::mem::replace(&mut is_decided, true) {
            assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
            approve_elsewhere(folder.path());
        }
        since.contains("[?]: ").then(|| "c\n".to_owned())
    });
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("paid: 3"), "{shown}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{shown}");
}
