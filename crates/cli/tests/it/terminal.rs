//! A pseudo-terminal on which a command line of a shell runs, and the ends of the questions that the program asks on it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The ends of the questions of the program.
const QUESTIONS: [&str; 8] = [
    "[n]o: ",
    "[?]: ",
    "ne by one: ",
    "as JSON: ",
    "passphrase: ",
    "passphrase for decisions: ",
    "requested changes: ",
    "[y/N] ",
];

/// Returns true if `text` contains a complete question of the program.
pub(crate) fn has_question(text: &str) -> bool {
    QUESTIONS.iter().any(|question| text.contains(question))
}

/// Returns true if `line`, up to the cursor, ends a question of the program, or is the prompt of a conversation.
pub(crate) fn ends_question(line: &str) -> bool {
    line == "> " || QUESTIONS.iter().any(|question| line.ends_with(question))
}

/// A pseudo-terminal, as long as its command runs.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    output: ChildStdout,
    bytes: [u8; 4096],
}

impl Terminal {
    /// Runs `line` in `folder`, which is the home of its person, with this environment and no other.
    pub(crate) fn start(folder: &Path, line: &str, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new("/usr/bin/script")
            .args(["--quiet", "--return", "--flush", "--command", line])
            .arg("/dev/null")
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self {
            keys: child.stdin.take().unwrap(),
            output: child.stdout.take().unwrap(),
            child,
            bytes: [0; 4096],
        }
    }

    /// Waits for the next bytes that the terminal shows. A part of a line may be among them. None come after the end of the command.
    pub(crate) fn shown(&mut self) -> &[u8] {
        let count = self.output.read(&mut self.bytes).unwrap();
        &self.bytes[..count]
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the exit status of the command.
    pub(crate) fn exit(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Closes the terminal, which ends the command.
    pub(crate) fn close(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
