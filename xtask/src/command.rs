//! Execution of other programs.

use std::path::Path;
use std::process::{Command, Stdio};

/// Creates a command that runs in the project's root, without input.
pub(crate) fn command(root: &Path, line: &[&str]) -> Command {
    let (program, arguments) = line.split_first().unwrap_or((&"true", &[]));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null());
    command
}

/// Runs a program to its end. Its output goes to the terminal.
///
/// # Errors
///
/// The program cannot be started, or fails.
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

/// Runs a program to its end, and returns its standard output.
///
/// # Errors
///
/// The program cannot be started, or fails; the message contains its output.
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
