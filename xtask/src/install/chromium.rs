//! The browser in which the page of runs is tested.

use std::env;
use std::path::PathBuf;

use super::debian::debian_package;
use crate::project::Project;

/// The names of the program in distributions.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];

/// The path of the browser. If it is missing, it is installed with the package manager of Debian.
///
/// # Errors
///
/// There is no browser, and none can be installed.
pub(crate) fn chromium(project: &Project) -> Result<PathBuf, String> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let missing = |error| {
        format!(
            "the page is tested in Chromium, which is missing: install it, or name it in `CHROMIUM` ({error})"
        )
    };
    debian_package(project, "chromium").map_err(missing)?;
    find().ok_or_else(|| missing("the installation left none".to_owned()))
}

fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let folders = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&folders).collect();
    let places = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|path| path.is_file())
}
