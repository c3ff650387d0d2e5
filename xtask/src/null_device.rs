//! Repair of a `/dev/null` that is a file.
//!
//! If a compiler runs as root with `/dev/null` as its output, it replaces the device by a file. This file then stores all discarded
//! output, and provides it as input to programs that expect none: `cargo metadata`, for example, compiles it and fails. The project
//! does not cause this, so the chores repair it and print a message.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::command::{command, run};
use crate::project::Project;

const PATH: &str = "/dev/null";

/// Restores the device if something else has its path.
///
/// # Errors
///
/// The device cannot be created, usually because only root may.
pub(crate) fn restore(project: &Project) -> Result<(), String> {
    if is_device(Path::new(PATH)) {
        return Ok(());
    }
    println!("{PATH} is not a device any more: putting it back");
    let made = format!("{PATH}.made");
    // Created under another name and renamed, so that the path exists at any time.
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
