//! Files that a program writes: the tests that find them stale can write them anew.

use crate::command;
use crate::project::Project;

/// Runs the tests of generated files in a mode in which they write what they would compare.
///
/// # Errors
///
/// That one of them failed.
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
