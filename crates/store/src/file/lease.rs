//! The lease of a run in a file: two locks of the operating system, one on a file in the lock folder, one on the inode of the database,
//! which holds even if that file is removed. Neither needs renewal or expiry: the system releases the locks of a process that dies.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#a-lease-is-a-file-lock).

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use planwright_engine::RunId;
use serde::{Deserialize, Serialize};

use super::inode::{InodeLease, StoreFile, private_file_in_folder};
use crate::database::{QueryError, RunLease, SqlSession};
use crate::error::LeaseHolder;
use crate::values::{from_nanos, to_nanos};

/// The number of attempts before a lock counts as taken: a reader that looks up the holder locks the file for a moment, too.
const MAX_ATTEMPTS: u32 = 8;
/// The number of attempts if the holder has not yet written its identity, which can take long on a busy machine.
const MAX_ATTEMPTS_UNNAMED: u32 = 500;
/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The content of a lock file.
#[derive(Serialize, Deserialize)]
struct HolderV1 {
    pid: u32,
    host: String,
    since_ns: i64,
}

/// A lease of a run. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct FileLease {
    file: File,
    path: PathBuf,
    inode: Option<InodeLease>,
}

/// The outcome of [`FileLease::take`].
#[derive(Debug)]
pub(super) enum LeaseOutcome {
    Acquired(FileLease),
    /// Another process has the lease, and may not have written its identity.
    LeasedBy(Option<LeaseHolder>),
}

impl FileLease {
    /// Takes the lease of the run `id` in a store; `path` is its lock file.
    pub(super) fn take(
        store: &Arc<StoreFile>,
        id: &RunId,
        path: &Path,
        holder: &LeaseHolder,
    ) -> io::Result<LeaseOutcome> {
        for tried in 1.. {
            let mut file = private_file_in_folder(path)?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, path) => {
                    // The lock file names the holder; the lock on the inode holds under every name of the store.
                    let mut lease = Self {
                        file,
                        path: path.to_owned(),
                        inode: store.lease(id.as_str())?,
                    };
                    if lease.inode.is_some() {
                        return write(&mut lease.file, holder)
                            .map(|()| LeaseOutcome::Acquired(lease));
                    }
                    drop(lease);
                    // The holder's lock file was removed, so its identity is unknown.
                    if MAX_ATTEMPTS <= tried {
                        return Ok(LeaseOutcome::LeasedBy(None));
                    }
                    thread::sleep(RETRY_INTERVAL);
                }
                // The last holder has removed the file since it was opened: the next attempt opens another one.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    // A holder that has just got the lock may not have written its identity yet.
                    let holder = read(&mut file).filter(|_| MAX_ATTEMPTS <= tried);
                    if holder.is_some() || MAX_ATTEMPTS_UNNAMED <= tried {
                        return Ok(LeaseOutcome::LeasedBy(holder));
                    }
                    thread::sleep(RETRY_INTERVAL);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        unreachable!("the loop has no end of its own")
    }

    /// Returns the holder of the lease of the run `id` in a store; `path` is its lock file.
    pub(super) fn holder(
        store: &StoreFile,
        id: &RunId,
        path: &Path,
    ) -> io::Result<Option<LeaseHolder>> {
        let unnamed = || Ok(store.is_leased(id.as_str())?.then_some(UNKNOWN));
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return unnamed(),
            Err(error) => return Err(error),
        };
        // A shared lock, so that concurrent readers do not mistake each other for the holder.
        match file.try_lock_shared() {
            Ok(()) => unnamed(),
            Err(TryLockError::WouldBlock) => Ok(Some(read(&mut file).unwrap_or(UNKNOWN))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A holder of unknown identity.
pub(super) const UNKNOWN: LeaseHolder = LeaseHolder {
    pid: 0,
    host: String::new(),
    client: None,
    since: SystemTime::UNIX_EPOCH,
};

impl RunLease for FileLease {
    fn verify(&self, _session: &dyn SqlSession) -> Result<(), QueryError> {
        // The locks last as long as this process.
        Ok(())
    }

    fn is_certain(&self) -> bool {
        true
    }

    fn renew(&self) -> Result<(), QueryError> {
        Ok(())
    }
}

impl Drop for FileLease {
    fn drop(&mut self) {
        // The inode first: a process that gets the lock of the file expects that of the inode to be free.
        drop(self.inode.take());
        // Our file may have been removed, and the path may name the file of another holder.
        if !is_still_there(&self.file, &self.path) {
            return;
        }
        // The file is removed before the lock is released: a process that waits for the lock then detects that its file has no
        // name.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        } else {
            let _ = self.file.set_len(0);
        }
        let _ = self.file.unlock();
    }
}

fn write(file: &mut File, holder: &LeaseHolder) -> io::Result<()> {
    let holder = HolderV1 {
        pid: holder.pid,
        host: holder.host.clone(),
        since_ns: to_nanos(holder.since),
    };
    let json = serde_json::to_string(&holder)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(json.as_bytes())
}

fn read(file: &mut File) -> Option<LeaseHolder> {
    let mut text = String::new();
    file.rewind().ok()?;
    // Bounded, since the file may have been replaced by any other.
    file.take(4096).read_to_string(&mut text).ok()?;
    let holder: HolderV1 = serde_json::from_str(&text).ok()?;
    Some(LeaseHolder {
        pid: holder.pid,
        host: holder.host,
        client: None,
        since: from_nanos(holder.since_ns),
    })
}

/// Returns true if `path` still names the file.
#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Returns true: on these systems lock files are never removed.
#[cfg(not(unix))]
fn is_still_there(_file: &File, _path: &Path) -> bool {
    true
}
