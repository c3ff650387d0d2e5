//! Processes of the compared systems, which run plans in turn.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A running process of one system. It runs a shape for each line of its input, and prints the times as a line of JSON.
#[derive(Debug)]
pub(super) struct Contestant {
    pub(super) name: &'static str,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
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
            (Some(input), Some(output)) => Ok(Self {
                name,
                process,
                input,
                output: BufReader::new(output),
            }),
            _ => Err(format!("{name} has no input or output")),
        }
    }

    /// Runs the shape at the index `shape`, and returns the seconds of each run.
    ///
    /// # Errors
    ///
    /// The process ends without times, because a run had a wrong result.
    pub(super) fn turn(&mut self, shape: usize) -> Result<Vec<f64>, String> {
        let explain = |error| format!("cannot communicate with {}: {error}", self.name);
        writeln!(self.input, "{shape}").map_err(explain)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(explain)?;
        seconds(&line)
            .ok_or_else(|| format!("{} printed no times but `{}`", self.name, line.trim()))
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
    /// Kills the process, and ignores the error for one that has already ended.
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
