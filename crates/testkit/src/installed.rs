//! Paths of programs that `cargo xtask` installs for tests.

use std::path::PathBuf;

/// External programs: the official conformance suite, widely used clients, and the systems of other dialects.
pub mod judges {
    use std::path::PathBuf;

    use super::installed;

    /// The file at `path` below the folder of external programs, such as `suite/node_modules/.bin/conformance`, as `cargo
    /// xtask judges` installs it.
    ///
    /// # Panics
    ///
    /// If it is not installed: a test that needs it must not pass without it.
    pub fn program(path: &str) -> PathBuf {
        installed(&format!("judges/{path}"))
            .unwrap_or_else(|| panic!("`{path}` is not installed: run `cargo xtask judges` first"))
    }

    /// A Node.js version that suits all of them.
    ///
    /// # Panics
    ///
    /// If it is not installed, as for [`program`].
    pub fn node() -> PathBuf {
        program("node/node_modules/.bin/node")
    }
}

/// Real MCP servers.
pub mod real_servers {
    use std::path::PathBuf;

    use super::installed;

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
}

/// The file at `path` below cargo's target folder, which also contains the running test.
fn installed(path: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().expect("the test knows its own program");
    test.ancestors()
        .map(|folder| folder.join(path))
        .find(|file| file.exists())
}
