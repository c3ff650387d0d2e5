//! Packages of Debian.

use crate::command::{command, run};
use crate::project::Project;

/// Installs a package with the package manager of Debian.
///
/// # Errors
///
/// The system has no such package manager, or no such package, or the user may not install it.
pub(super) fn debian_package(project: &Project, name: &str) -> Result<(), String> {
    println!("installing {name}");
    // The lists of packages may be old, or there may be none yet.
    run(command(&project.root, &["apt-get", "update"]))?;
    let line = [
        "apt-get",
        "install",
        "--yes",
        "--no-install-recommends",
        name,
    ];
    run(command(&project.root, &line))
}
