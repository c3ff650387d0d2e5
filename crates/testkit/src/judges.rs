//! Paths of the judges: the official conformance suite, the clients that others use, and the systems that plans are converted for.

use std::path::PathBuf;

use crate::real_servers::installed;

/// The file at `path` below the folder of the judges, such as `suite/node_modules/.bin/conformance`, as
/// `cargo xtask judges` has installed it.
///
/// # Panics
///
/// Where it is not installed: a test that needs it must not pass without it.
pub fn program(path: &str) -> PathBuf {
    installed(&format!("judges/{path}"))
        .unwrap_or_else(|| panic!("`{path}` is not installed: run `cargo xtask judges` first"))
}

/// A Node.js that is new enough for all of them.
///
/// # Panics
///
/// As [`program`].
pub fn node() -> PathBuf {
    program("node/node_modules/.bin/node")
}
