//! Where the real MCP servers are that tests talk to.

use std::path::PathBuf;

/// The path of the server `name`, as `cargo xtask servers` has installed it.
///
/// # Panics
///
/// Where it is not installed: a test that needs it must not pass without it.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows its own program");
    // The test stands somewhere below cargo's target folder, and so do the servers.
    let folders = test.ancestors().map(|folder| folder.join("servers"));
    let programs = folders.flat_map(|servers| {
        ["npm/node_modules/.bin", "python/bin"].map(|folder| servers.join(folder).join(name))
    });
    programs
        .into_iter()
        .find(|program| program.exists())
        .unwrap_or_else(|| panic!("`{name}` is not installed: run `cargo xtask servers` first"))
}
