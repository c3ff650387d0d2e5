//! Programs from the registry that chores need, each in the version that it was written against.

use std::path::PathBuf;

use crate::command::{self, command};
use crate::project::Project;

/// The program `name`, installed below cargo's target folder unless it is there.
///
/// # Errors
///
/// Why it could not be installed.
pub(crate) fn install(project: &Project, name: &str, version: &str) -> Result<PathBuf, String> {
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
