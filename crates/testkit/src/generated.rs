//! Files that a program writes, and that are kept beside the code: a test finds those that are stale.

use std::fs;
use std::path::{Path, PathBuf};

/// The file at `path`, counted from the project's root.
pub fn project_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Compares the file at `path`, counted from the project's root, with what it should be.
///
/// Only tests whose name begins with `generated` call it: `cargo xtask generate` runs them in a mode in which they
/// write the file first.
///
/// # Panics
///
/// If the file is not as it should be, or cannot be written.
pub fn check(path: &str, current: &str) {
    let file = project_file(path);
    #[expect(
        clippy::disallowed_methods,
        reason = "this is how the chore asks for the file"
    )]
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        fs::write(&file, current).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == current,
        "{path} is stale: run `cargo xtask generate`\n{}",
        first_difference(&kept, current)
    );
}

/// The first lines that differ.
fn first_difference(kept: &str, current: &str) -> String {
    let mut lines = current.lines();
    for (index, line) in kept.lines().enumerate() {
        let should = lines.next().unwrap_or("(nothing)");
        if line != should {
            let number = index + 1;
            return format!("line {number} is    {line}\nit should be {should}");
        }
    }
    format!("it should go on with {}", lines.next().unwrap_or("nothing"))
}
