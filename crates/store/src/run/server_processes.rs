//! Lists of the server processes that a run's process has started, so that the next process that resumes the run after a kill can
//! find servers that are still working for it.
//!
//! Each leased run has a file in the lock folder with one line for each process. The file exists as long as the run is leased, and
//! longer if its process was killed. It is not synced: a crash of the machine ends the servers, too.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use planwright_core::ServerName;
use serde::{Deserialize, Serialize};

use crate::database::RunLease;
use crate::file::{private_file, private_file_in_folder};

/// A process of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    /// The name of the server.
    pub server: ServerName,
    /// The process id.
    pub pid: u32,
    /// The start time in a system-specific form, which distinguishes processes that got the same id one after the other.
    pub started: String,
}

/// The server processes that this process has started, and the files of the runs that it has leased.
static OWN: Mutex<OwnProcesses> = Mutex::new(OwnProcesses {
    running: Vec::new(),
    files: Vec::new(),
});

struct OwnProcesses {
    running: Vec<ServerProcess>,
    files: Vec<Weak<ProcessFile>>,
}

/// Registers a server process that this process has started, for all runs that it has leased or will lease.
///
/// # Errors
///
/// The file of one of the runs cannot be written.
pub fn register_server_process(process: ServerProcess) -> io::Result<()> {
    // Locked until all files are written, so that a run that is leased meanwhile does not miss the process.
    let mut own = own_processes();
    own.files.retain(|file| file.strong_count() > 0);
    let files: Vec<Arc<ProcessFile>> = own.files.iter().filter_map(Weak::upgrade).collect();
    let appended = files
        .iter()
        .try_for_each(|file| file.append(std::slice::from_ref(&process)));
    own.running.push(process);
    drop(own);
    appended
}

/// Removes a server process of this process that has ended.
pub fn unregister_server_process(pid: u32) {
    own_processes().running.retain(|process| process.pid != pid);
}

fn own_processes() -> MutexGuard<'static, OwnProcesses> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of a run that this process has leased.
#[derive(Debug)]
pub(crate) struct ProcessFile {
    path: PathBuf,
    /// The server processes that earlier processes have started and that may still be running.
    earlier: Mutex<Vec<ServerProcess>>,
    /// The lease of the run. While it is not certain, the file may be that of another process.
    lease: Arc<dyn RunLease>,
}

impl ProcessFile {
    /// Opens the file at `path` and reads the processes in it, if it exists.
    pub(crate) fn open(path: PathBuf, lease: Arc<dyn RunLease>) -> io::Result<Arc<Self>> {
        let file = Arc::new(Self {
            earlier: Mutex::new(read_file(&path)?),
            path,
            lease,
        });
        let mut own = own_processes();
        // Servers that were started before the run was leased work for it as well.
        file.append(&own.running)?;
        own.files.push(Arc::downgrade(&file));
        Ok(file)
    }

    pub(crate) fn earlier(&self) -> MutexGuard<'_, Vec<ServerProcess>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, processes: &[ServerProcess]) -> io::Result<()> {
        if processes.is_empty() || !self.lease.is_certain() {
            return Ok(());
        }
        let mut file = private_file_in_folder(&self.path)?;
        file.seek(SeekFrom::End(0))?;
        // A killed process may have left an incomplete last line.
        let mut text = vec![b'\n'];
        text.extend(lines(processes)?);
        file.write_all(&text)
    }
}

impl Drop for ProcessFile {
    /// Keeps only the server processes of earlier processes in the file: those of this process end with it.
    fn drop(&mut self) {
        if !self.lease.is_certain() {
            return;
        }
        let earlier = self.earlier();
        let result = match lines(&earlier) {
            Ok(lines) if !lines.is_empty() => {
                // The rename is atomic, so that a kill leaves either the old list or the new one.
                let new = self.path.with_extension("new");
                let written = private_file(&new).and_then(|mut file| {
                    file.set_len(0)?;
                    file.write_all(&lines)
                });
                written.and_then(|()| fs::rename(&new, &self.path))
            }
            _ => fs::remove_file(&self.path),
        };
        // A destructor cannot report an error, and the next process checks whether the listed processes are still running.
        drop(result);
    }
}

fn lines(processes: &[ServerProcess]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for process in processes {
        serde_json::to_writer(&mut lines, process)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Returns the processes in the file at `path` that this process has not started.
pub(crate) fn read_earlier(path: &Path) -> io::Result<Vec<ServerProcess>> {
    let mut processes = read_file(path)?;
    let own = own_processes();
    // If this process drives the run, the file lists its own servers as well.
    processes.retain(|process| !own.running.contains(process));
    Ok(processes)
}

fn read_file(path: &Path) -> io::Result<Vec<ServerProcess>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // Skips empty and incomplete lines.
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.filter_map(Result::ok).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{
        ProcessFile, ServerProcess, read_earlier, register_server_process,
        unregister_server_process,
    };
    use crate::database::{QueryError, RunLease, SqlSession};

    /// A lease that is certain until it is lost.
    #[derive(Debug, Default)]
    struct TestLease {
        is_lost: AtomicBool,
    }

    impl RunLease for TestLease {
        fn verify(&self, _session: &dyn SqlSession) -> Result<(), QueryError> {
            Ok(())
        }

        fn is_certain(&self) -> bool {
            !self.is_lost.load(Ordering::Relaxed)
        }

        fn renew(&self) -> Result<(), QueryError> {
            Ok(())
        }
    }

    fn process(server: &str, pid: u32) -> ServerProcess {
        ServerProcess {
            server: server.into(),
            pid,
            started: "1".to_owned(),
        }
    }

    #[test]
    fn servers_of_a_killed_process_are_listed_until_they_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run-a.servers");
        let lease = Arc::<TestLease>::default();
        let open =
            || ProcessFile::open(path.clone(), Arc::clone(&lease) as Arc<dyn RunLease>).unwrap();
        let first = open();
        assert!(!path.exists());
        register_server_process(process("a", 1_000_001)).unwrap();
        register_server_process(process("b", 1_000_002)).unwrap();
        // A kill leaves the file, with an incomplete last line.
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"server\":\"c\",\"pi");
        drop(first);
        assert!(!path.exists());
        for pid in [1_000_001, 1_000_002] {
            unregister_server_process(pid);
        }
        fs::write(&path, text).unwrap();

        let second = open();
        let left = [process("a", 1_000_001), process("b", 1_000_002)];
        assert_eq!(*second.earlier(), left);
        register_server_process(process("d", 1_000_003)).unwrap();
        let of_earlier = || -> Vec<ServerProcess> {
            let mut found = read_earlier(&path).unwrap();
            found.retain(|process| process.pid / 10 == 100_000);
            found
        };
        assert_eq!(of_earlier(), left);
        // One of them has ended: the next process need only look at the other.
        *second.earlier() = vec![process("b", 1_000_002)];
        drop(second);
        unregister_server_process(1_000_003);
        assert_eq!(of_earlier(), left[1..]);
        let third = open();
        third.earlier().clear();
        drop(third);
        assert!(!path.exists());
    }

    #[test]
    fn a_process_without_the_lease_leaves_the_list_to_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers").join("run-b.servers");
        let lost = Arc::<TestLease>::default();
        let stopped = ProcessFile::open(path.clone(), Arc::clone(&lost) as Arc<dyn RunLease>);
        // The folder is made when the first line is written.
        register_server_process(process("a", 2_000_001)).unwrap();
        lost.is_lost.store(true, Ordering::Relaxed);
        let list = fs::read_to_string(&path).unwrap();
        assert!(list.contains("2000001"));
        register_server_process(process("b", 2_000_002)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), list);
        drop(stopped);
        assert_eq!(fs::read_to_string(&path).unwrap(), list);
        for pid in [2_000_001, 2_000_002] {
            unregister_server_process(pid);
        }
    }
}
