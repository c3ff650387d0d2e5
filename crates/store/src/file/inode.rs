//! Identity and locks of the database file by its inode, which all of its names share: links, mounts, moved folders.
//!
//! A run is leased by a lock file in the lock folder, which also names the holder. But a lock file is bound to a name: another hard
//! link has another lock folder, and the folder can be removed while a run is in progress. So the lease is also a lock on the
//! inode of the database: one byte for each run, far behind any content.
//!
//! It is a lock of the open file description (`F_OFD_SETLK`), for three reasons. SQLite's own locks on this file are POSIX locks on
//! other bytes, so the two kinds do not interfere; a lock of the whole file (`flock`) could not distinguish runs; and a POSIX lock
//! of ours would be shared by the whole process and dropped with any descriptor of the file.
//!
//! The last point holds for SQLite's locks, too: closing *any* descriptor of this file drops all of its locks in this process.
//! So a process opens the file once besides SQLite, for all of its [`StoreFile`]s, and closes it after the last connection.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::database::QueryError;
use crate::error::{FileProblem, StoreError};

/// The identity of a file, independent of its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
    #[cfg(not(unix))]
    path: PathBuf,
}

/// The database file. Its descriptor stays open until the last `StoreFile` of the same inode is dropped, which must happen after
/// all connections are closed.
#[derive(Debug)]
pub(crate) struct StoreFile {
    path: PathBuf,
    id: FileId,
    names: u64,
}

/// The state that all [`StoreFile`]s of one inode share in this process.
#[derive(Debug, Default)]
struct Shared {
    /// The first one has the locks. Further ones were opened before they were known to be the same file; closing one early would
    /// drop SQLite's locks.
    descriptors: Vec<File>,
    users: usize,
    /// Runs that this process has leased: a file description does not exclude itself.
    leased: HashSet<String>,
}

static SHARED: Mutex<BTreeMap<FileId, Shared>> = Mutex::new(BTreeMap::new());

fn shared() -> MutexGuard<'static, BTreeMap<FileId, Shared>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StoreFile {
    /// Opens the file for reading and writing, and creates it if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut all = shared();
        // A file that is open already is not opened again: closing that descriptor would drop SQLite's locks.
        let known = fs::metadata(path).ok().and_then(|metadata| {
            let path = path.canonicalize().ok()?;
            let id = file_id(&metadata, &path);
            all.contains_key(&id).then_some((metadata, path, id))
        });
        let (metadata, path, id) = match known {
            Some(known) => known,
            None => {
                let file = private_file(path)?;
                let metadata = file.metadata()?;
                let path = path.canonicalize()?;
                let id = file_id(&metadata, &path);
                all.entry(id.clone()).or_default().descriptors.push(file);
                (metadata, path, id)
            }
        };
        all.entry(id.clone()).or_default().users += 1;
        Ok(Self {
            path,
            id,
            names: names(&metadata),
        })
    }

    /// Returns the path without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of names (hard links) of the file when it was opened.
    pub(crate) fn names(&self) -> u64 {
        self.names
    }

    /// Returns the content of the identity file in the lock folder.
    pub(crate) fn identity(&self) -> String {
        #[cfg(unix)]
        let id = self.id.inode;
        #[cfg(not(unix))]
        let id = "";
        format!("{id}\n")
    }

    /// Fails if the path no longer leads to the file, so that nothing is written that cannot be found again.
    pub(crate) fn check_in_place(&self) -> Result<(), QueryError> {
        match fs::metadata(&self.path) {
            Ok(found) if file_id(&found, &self.path) == self.id => Ok(()),
            _ => Err(QueryError::Store(StoreError::File {
                path: self.path.clone(),
                trouble: FileProblem::Gone,
            })),
        }
    }

    /// Leases a run by its id. Returns `None` if this process or another one has leased it.
    pub(crate) fn lease(self: &Arc<Self>, run: &str) -> io::Result<Option<InodeLease>> {
        let mut all = shared();
        let Some(shared) = all.get_mut(&self.id) else {
            return Ok(None);
        };
        if shared.leased.contains(run) {
            return Ok(None);
        }
        let is_free = shared
            .descriptors
            .first()
            .map_or(Ok(true), |file| range::lock(file, run))?;
        if !is_free {
            return Ok(None);
        }
        shared.leased.insert(run.to_owned());
        Ok(Some(InodeLease {
            file: Arc::clone(self),
            run: run.to_owned(),
        }))
    }

    /// Returns true if this process or another one has leased the run.
    pub(crate) fn is_leased(&self, run: &str) -> io::Result<bool> {
        let all = shared();
        let Some(shared) = all.get(&self.id) else {
            return Ok(false);
        };
        if shared.leased.contains(run) {
            return Ok(true);
        }
        shared
            .descriptors
            .first()
            .map_or(Ok(false), |file| range::is_locked(file, run))
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        // Under the mutex, so that no descriptor is closed after another store has opened the same file.
        let mut all = shared();
        if let Some(shared) = all.get_mut(&self.id) {
            shared.users = shared.users.saturating_sub(1);
            if shared.users == 0 {
                all.remove(&self.id);
            }
        }
    }
}

/// A lock on the inode for one run. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub(crate) struct InodeLease {
    file: Arc<StoreFile>,
    run: String,
}

impl Drop for InodeLease {
    fn drop(&mut self) {
        let mut all = shared();
        if let Some(shared) = all.get_mut(&self.file.id) {
            shared.leased.remove(&self.run);
            if let Some(file) = shared.descriptors.first() {
                range::unlock(file, &self.run);
            }
        }
    }
}

#[cfg(unix)]
fn file_id(metadata: &Metadata, _: &Path) -> FileId {
    use std::os::unix::fs::MetadataExt;
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

#[cfg(not(unix))]
fn file_id(_: &Metadata, path: &Path) -> FileId {
    FileId {
        path: path.to_owned(),
    }
}

#[cfg(unix)]
fn names(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn names(_: &Metadata) -> u64 {
    1
}

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
    let is_writable =
        |path: &&Path| std::fs::metadata(path).is_ok_and(|found| is_open_to_others(&found));
    // A path that cannot be examined is not reported: opening it fails with a better message.
    let writable = paths.into_iter().filter(is_writable);
    writable.map(Path::to_owned).collect()
}

#[cfg(unix)]
fn is_open_to_others(found: &Metadata) -> bool {
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
fn is_open_to_others(_: &Metadata) -> bool {
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

/// Opens the file at `path`, as [`private_file`] does, and creates its folder if it does not exist.
pub(crate) fn private_file_in_folder(path: &Path) -> io::Result<File> {
    match private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_folder(path.parent().unwrap_or(Path::new("")))?;
            private_file(path)
        }
        opened => opened,
    }
}

/// Creates a folder that only its owner can write to, if it does not exist.
///
/// # Errors
///
/// An error of the system; [`io::ErrorKind::PermissionDenied`] if it exists and another user owns it or can write to it.
pub fn create_own_folder(path: &Path) -> io::Result<()> {
    create_folder(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = nix::unistd::geteuid().as_raw();
        // Checks a symbolic link itself and the folder that it leads to.
        for found in [fs::symlink_metadata(path)?, fs::metadata(path)?] {
            if found.uid() != user || found.is_dir() && is_open_to_others(&found) {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!("`{}` is owned or writable by another user", path.display()),
                ));
            }
        }
    }
    Ok(())
}

/// Locks on one byte for each run.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod range {
    use std::fs::File;
    use std::io;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    use planwright_format::journal::Digest;

    /// The first byte for locks. SQLite locks bytes near the first gigabyte, and no file is this large.
    const FIRST: i64 = 1 << 62;

    pub(super) fn lock(file: &File, run: &str) -> io::Result<bool> {
        match fcntl(file, FcntlArg::F_OFD_SETLK(&byte(libc::F_WRLCK, run))) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(error) if is_unsupported(error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn unlock(file: &File, run: &str) {
        // If this fails, closing the descriptor unlocks the byte.
        let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&byte(libc::F_UNLCK, run)));
    }

    pub(super) fn is_locked(file: &File, run: &str) -> io::Result<bool> {
        let mut found = byte(libc::F_WRLCK, run);
        match fcntl(file, FcntlArg::F_OFD_GETLK(&mut found)) {
            Ok(_) => Ok(libc::c_int::from(found.l_type) != libc::F_UNLCK),
            Err(error) if is_unsupported(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the file system has no such locks. Then only the lock file protects the run.
    fn is_unsupported(error: Errno) -> bool {
        matches!(error, Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP)
    }

    fn byte(kind: libc::c_int, run: &str) -> libc::flock {
        let Digest(bytes) = Digest::of(run);
        let first = bytes.first_chunk().copied().unwrap_or_default();
        // 61 bits, so that the offset stays below the maximum of a file offset. A collision would only make a free run look
        // leased.
        let number = u64::from_be_bytes(first) >> 3;
        libc::flock {
            l_type: i16::try_from(kind).unwrap_or_default(),
            l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
            l_start: FIRST.saturating_add(i64::try_from(number).unwrap_or_default()),
            l_len: 1,
            l_pid: 0,
        }
    }
}

/// Stub for systems without such locks, on which only the lock file protects a run.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod range {
    use std::fs::File;
    use std::io;

    pub(super) fn lock(_: &File, _: &str) -> io::Result<bool> {
        Ok(true)
    }

    pub(super) fn unlock(_: &File, _: &str) {}

    pub(super) fn is_locked(_: &File, _: &str) -> io::Result<bool> {
        Ok(false)
    }
}
