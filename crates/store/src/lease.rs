//! Who has a run: one process at a time, and a process that dies has it no more.
//!
//! The lease is a lock of the operating system on a file beside the store, and one on the store's own inode, which holds
//! whatever becomes of that file. Nothing has to be renewed, and nothing has to expire: when a process dies, however it dies, the
//! system takes its locks away.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::file::{InodeLease, StoreFile, create_folder, private_file};
use crate::times::{from_nanos, to_nanos};

/// How often a lock is tried before it counts as held: whoever only asks who has a run has it for a moment, too.
const TRIES: u32 = 8;
/// How often, where its holder has not yet said who it is: a busy machine may stop it in between.
const PATIENT_TRIES: u32 = 500;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// A process that has a run, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// The machine that it is on; empty where that is not known.
    pub host: String,
    /// Since when it has the run.
    pub since: SystemTime,
}

impl Holder {
    /// This process.
    pub fn this_process(host: impl Into<String>, since: SystemTime) -> Self {
        Self {
            pid: std::process::id(),
            host: host.into(),
            since,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &*self.host) {
            (0, _) => f.write_str("another process"),
            (pid, "") => write!(f, "process {pid}"),
            (pid, host) => write!(f, "process {pid} on `{host}`"),
        }
    }
}

/// What stands in the file.
#[derive(Serialize, Deserialize)]
struct HolderV1 {
    pid: u32,
    host: String,
    since_ns: i64,
}

/// A run that this process has. It gives it back when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
    path: PathBuf,
    inode: Option<InodeLease>,
}

/// What came of trying to take a lease.
#[derive(Debug)]
pub(crate) enum Taken {
    Now(Lease),
    /// Somebody else has it; nobody knows who where that process has not said so yet.
    Already(Option<Holder>),
}

impl Lease {
    /// Takes the lease of the run `id` in a store; `path` is its lock file.
    pub(crate) fn take(
        store: &Arc<StoreFile>,
        id: &str,
        path: &Path,
        holder: &Holder,
    ) -> io::Result<Taken> {
        for tried in 1.. {
            let mut file = lock_file(path)?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, path) => {
                    let mut lease = Self {
                        file,
                        path: path.to_owned(),
                        inode: store.lease(id)?,
                    };
                    if lease.inode.is_some() {
                        return write(&mut lease.file, holder).map(|()| Taken::Now(lease));
                    }
                    drop(lease);
                    // The lock file of its holder was removed, so it cannot be told who that is.
                    if TRIES <= tried {
                        return Ok(Taken::Already(None));
                    }
                    thread::sleep(PAUSE);
                }
                // Its last holder has removed it in the meantime: the next try finds another file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read(&mut file).filter(|_| TRIES <= tried);
                    if holder.is_some() || PATIENT_TRIES <= tried {
                        return Ok(Taken::Already(holder));
                    }
                    thread::sleep(PAUSE);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        unreachable!("the loop has no end of its own")
    }

    /// Who has the lease of the run `id` in a store; `path` is its lock file.
    pub(crate) fn holder(store: &StoreFile, id: &str, path: &Path) -> io::Result<Option<Holder>> {
        let unnamed = || Ok(store.is_leased(id)?.then_some(UNKNOWN));
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return unnamed(),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => unnamed(),
            Err(TryLockError::WouldBlock) => Ok(Some(read(&mut file).unwrap_or(UNKNOWN))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A process that has not said who it is.
pub(crate) const UNKNOWN: Holder = Holder {
    pid: 0,
    host: String::new(),
    since: SystemTime::UNIX_EPOCH,
};

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.inode.take());
        // The name may be that of another file: somebody removed ours.
        if !is_still_there(&self.file, &self.path) {
            return;
        }
        // First the name, then the lock: whoever waits for the lock finds that its file has lost its name.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        } else {
            let _ = self.file.set_len(0);
        }
        let _ = self.file.unlock();
    }
}

/// Opens the lock file at `path`, and creates it with its folder where they are missing.
fn lock_file(path: &Path) -> io::Result<File> {
    match private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_folder(path.parent().unwrap_or(Path::new("")))?;
            private_file(path)
        }
        opened => opened,
    }
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
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

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    let holder: HolderV1 = serde_json::from_str(&text).ok()?;
    Some(Holder {
        pid: holder.pid,
        host: holder.host,
        since: from_nanos(holder.since_ns),
    })
}

/// Whether the file is the one that `path` names.
#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Whether the file is the one that `path` names. Nobody removes it here.
#[cfg(not(unix))]
fn is_still_there(_file: &File, _path: &Path) -> bool {
    true
}
