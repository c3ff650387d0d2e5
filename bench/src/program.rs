//! The program that is measured.

use std::path::PathBuf;

/// The program that the first argument names, or the one beside this.
///
/// # Panics
///
/// Where this process does not know where it is.
pub fn planwright() -> PathBuf {
    let named = std::env::args_os().nth(1);
    named.map_or_else(beside, |named| std::path::absolute(named).expect("a path"))
}

/// The program `planwright` beside this one.
///
/// # Panics
///
/// Where this process does not know where it is.
pub fn beside() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this program");
    this.with_file_name(format!("planwright{}", std::env::consts::EXE_SUFFIX))
}
