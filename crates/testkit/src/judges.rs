//! Paths of external programs: the official conformance suite, widely used clients, and the systems of other dialects.

use std::path::PathBuf;

use crate::real_servers::installed;

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
