//! Files that are generated from the code and stored beside it: a test detects stale ones.

use std::fs;
use std::path::{Path, PathBuf};

/// The file at `path`, relative to the project's root.
pub fn project_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Compares the file at `path`, relative to the project's root, with its `current` content.
///
/// Only tests whose names begin with `generated` call it: `cargo xtask generate` runs them in a mode that writes the
/// file first.
///
/// # Panics
///
/// If the file is stale, or cannot be written.
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
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == current,
        "{path} is stale: run `cargo xtask generate`\n{}",
        first_difference(&stored, current)
    );
}

/// A description of the first lines that differ.
fn first_difference(stored: &str, current: &str) -> String {
    let mut lines = current.lines();
    for (index, line) in stored.lines().enumerate() {
        let should = lines.next().unwrap_or("(nothing)");
        if line != should {
            let number = index + 1;
            return format!("line {number} is    {line}\nit should be {should}");
        }
    }
    format!("it should go on with {}", lines.next().unwrap_or("nothing"))
}
