//! Regeneration of generated files, by the tests that detect stale ones.

use crate::command;
use crate::project::Project;

/// Runs the tests of generated files in the mode that writes the files.
///
/// # Errors
///
/// A test fails.
pub(crate) fn run(project: &Project) -> Result<(), String> {
    let mut command = command::command(
        &project.root,
        &[
            "cargo",
            "nextest",
            "run",
            "--workspace",
            "--no-tests=warn",
            "--filterset",
            "test(generated)",
        ],
    );
    command.env("UPDATE_GENERATED", "1");
    command::run(command)
}
