//! Where the server's program is.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::programs::built;

/// The path of the server's program.
///
/// # Panics
///
/// Where it cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("conformance-server"))
}
