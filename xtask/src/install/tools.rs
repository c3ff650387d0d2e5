//! Installation of the cargo programs that chores need, in pinned versions.

use std::path::PathBuf;

use crate::command::{self, command};
use crate::project::Project;

/// Returns the path of the program `name`, and installs it below cargo's target folder if it is missing.
///
/// # Errors
///
/// The installation fails.
pub(crate) fn install_tool(
    project: &Project,
    name: &str,
    version: &str,
) -> Result<PathBuf, String> {
    let folder = project
        .target()
        .join("tools")
        .join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.exists() {
        let line = ["cargo", "install", "--locked", name, "--version", version];
        let mut install = command(&project.root, &line);
        install.arg("--root").arg(&folder);
        command::run(install)?;
    }
    Ok(program)
}
