//! Regeneration of generated files: by the tests that detect stale ones, and the types of the npm client.

use crate::command;
use crate::project::Project;
use crate::test::dist;

/// Runs the tests of generated files in the mode that writes the files, and then makes the types that follow from these.
///
/// # Errors
///
/// A test fails, or the types cannot be made.
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
    command::run(command)?;
    dist::generate_types(project)
}
