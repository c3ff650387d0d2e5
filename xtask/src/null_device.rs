//! Sees to it that `/dev/null` is what it should be.
//!
//! A compiler that runs as root and is told to write to `/dev/null` puts a file in the place of the device. From then on
//! it keeps what others throw away, and gives it to those who want to read nothing: `cargo metadata`, for one, has such a
//! text compiled and fails. That is no fault of the project, so its chores mend it, and say so.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::command::{command, run};
use crate::project::Project;

const PATH: &str = "/dev/null";

/// Puts the device back where something else is in its place.
///
/// # Errors
///
/// Why it could not: mostly because only root may.
pub(crate) fn restore(project: &Project) -> Result<(), String> {
    if is_device(Path::new(PATH)) {
        return Ok(());
    }
    println!("{PATH} is not a device any more: putting it back");
    let made = format!("{PATH}.made");
    // Made beside it and moved over it, so that there is one at any time.
    for line in [
        &["mknod", "-m", "666", &made, "c", "1", "3"][..],
        &["mv", "-f", &made, PATH],
    ] {
        run(command(&project.root, line))?;
    }
    Ok(())
}

fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_device() {
        assert!(is_device(Path::new("/dev/zero")));
        assert!(!is_device(Path::new(file!())));
        assert!(!is_device(Path::new("/dev")));
    }
}
