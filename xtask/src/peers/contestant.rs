//! Processes that run plans in turn.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A running process of one system with its settings.
#[derive(Debug)]
pub(super) struct Contestant {
    pub(super) name: &'static str,
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Contestant {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// The process does not start.
    pub(super) fn start(name: &'static str, mut command: Command) -> Result<Self, String> {
        let explain = |error| format!("cannot start {name}: {error}");
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(explain)?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(questions), Some(answers)) => Ok(Self {
                name,
                process,
                questions,
                answers: BufReader::new(answers),
            }),
            _ => Err(format!("{name} cannot be talked to")),
        }
    }

    /// Runs the shape with this number, and returns the seconds of each run.
    ///
    /// # Errors
    ///
    /// The process ends without an answer, because a run had a wrong result.
    pub(super) fn turn(&mut self, shape: usize) -> Result<Vec<f64>, String> {
        let explain = |error| format!("{} cannot be asked: {error}", self.name);
        writeln!(self.questions, "{shape}").map_err(explain)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(explain)?;
        seconds(&line).ok_or_else(|| format!("{} gave no figures but `{}`", self.name, line.trim()))
    }
}

fn seconds(line: &str) -> Option<Vec<f64>> {
    let answer: Value = serde_json::from_str(line).ok()?;
    let seconds: Vec<f64> = answer["seconds"]
        .as_array()?
        .iter()
        .map(Value::as_f64)
        .collect::<Option<_>>()?;
    (!seconds.is_empty()).then_some(seconds)
}

impl Drop for Contestant {
    /// Kills the process. A process that has ended already cannot be killed, so errors are ignored.
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
