//! Running other programs.

use std::path::Path;
use std::process::{Command, Stdio};

/// A program to run in the project's root, without an input.
pub(crate) fn command(root: &Path, line: &[&str]) -> Command {
    let (program, arguments) = line.split_first().unwrap_or((&"true", &[]));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null());
    command
}

/// Runs a program to its end and lets it talk to the terminal.
///
/// # Errors
///
/// Why it could not be started, or that it failed.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("cannot start {}: {error}", name(&command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} failed: {status}", name(&command)))
    }
}

/// Runs a program to its end and gives what it wrote to its standard output.
///
/// # Errors
///
/// Why it could not be started, or that it failed, with what it had written.
pub(crate) fn output(mut command: Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", name(&command)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!(
            "{text}{} failed: {}",
            name(&command),
            output.status
        ))
    }
}

fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}
