//! The path of the measured program.

use std::path::PathBuf;

/// Returns the program that the first argument names, or else the one beside this executable.
///
/// # Panics
///
/// If the path of this executable is unknown.
pub fn planwright() -> PathBuf {
    let named = std::env::args_os().nth(1);
    named.map_or_else(beside, |named| std::path::absolute(named).expect("a path"))
}

/// Returns the program `planwright` beside this one.
///
/// # Panics
///
/// If this process does not know where it is.
pub fn beside() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this program");
    this.with_file_name(format!("planwright{}", std::env::consts::EXE_SUFFIX))
}
