//! Paths of real MCP servers.

use std::path::PathBuf;

/// The path of the server `name`, as `cargo xtask servers` installs it.
///
/// # Panics
///
/// If it is not installed: a test that needs it must not pass without it.
pub fn program(name: &str) -> PathBuf {
    ["npm/node_modules/.bin", "python/bin"]
        .into_iter()
        .find_map(|folder| installed(&format!("servers/{folder}/{name}")))
        .unwrap_or_else(|| panic!("`{name}` is not installed: run `cargo xtask servers` first"))
}

/// The file at `path` below cargo's target folder, which also contains the running test.
pub(crate) fn installed(path: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().expect("the test knows its own program");
    test.ancestors()
        .map(|folder| folder.join(path))
        .find(|file| file.exists())
}
