//! Files and folders with access for their owner only.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Creates a folder and its parents if they do not exist.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns the paths that users other than their owner may write, according to the mode bits.
pub(crate) fn writable_by_others<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    let is_writable = |path: &&Path| std::fs::metadata(path).is_ok_and(|found| is_open(&found));
    let writable = paths.into_iter().filter(is_writable);
    writable.map(Path::to_owned).collect()
}

#[cfg(unix)]
fn is_open(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let mode = found.mode();
    // The sticky bit of a folder keeps users from replacing files of other owners.
    if found.is_dir() && mode & 0o1000 != 0 {
        return false;
    }
    // On systems with one group for each user, of the same number, folders are often group-writable.
    let is_own_group = found.is_dir() && found.gid() == found.uid();
    let others = if is_own_group { 0o002 } else { 0o022 };
    mode & others != 0
}

#[cfg(not(unix))]
fn is_open(_: &Metadata) -> bool {
    false
}

/// Opens a file for reading and writing, and creates it if it does not exist.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
