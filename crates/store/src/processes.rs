//! The processes of servers that a run's process has started: beside its lease, so that whoever resumes the run after that
//! process has died knows what may still work for it.
//!
//! Each run that is held has a file of lines, one for each process. It is there as long as the run is held, and longer if
//! its process was killed. What is written there need not survive a crash of the machine, which ends the servers, too.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use crate::file::private_file;

/// A process that a server was started as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    /// The server's name.
    pub server: String,
    /// The number of the process.
    pub pid: u32,
    /// When it started, in a form that tells it from others of the same number.
    pub started: String,
}

/// The processes that this process has started, and the runs that it holds.
static OWN: Mutex<Own> = Mutex::new(Own {
    running: Vec::new(),
    records: Vec::new(),
});

struct Own {
    running: Vec<ServerProcess>,
    records: Vec<Weak<Record>>,
}

/// Records a process of a server that this process has started, for all runs that it holds and will hold.
///
/// # Errors
///
/// That it could not be written for one of them.
pub fn record_server_process(process: ServerProcess) -> io::Result<()> {
    let mut own = own();
    own.records.retain(|record| record.strong_count() > 0);
    let records: Vec<Arc<Record>> = own.records.iter().filter_map(Weak::upgrade).collect();
    let appended = records
        .iter()
        .try_for_each(|record| record.append(std::slice::from_ref(&process)));
    own.running.push(process);
    drop(own);
    appended
}

/// Records that the process `pid`, which this process has started, has ended.
pub fn forget_server_process(pid: u32) {
    own().running.retain(|process| process.pid != pid);
}

fn own() -> MutexGuard<'static, Own> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of one run that this process holds.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    /// What earlier processes have started and may still run.
    earlier: Mutex<Vec<ServerProcess>>,
}

impl Record {
    /// Takes over the file at `path`, if there is one.
    pub(crate) fn open(path: PathBuf) -> io::Result<Arc<Self>> {
        let record = Arc::new(Self {
            earlier: Mutex::new(read(&path)?),
            path,
        });
        let mut own = own();
        record.append(&own.running)?;
        own.records.push(Arc::downgrade(&record));
        Ok(record)
    }

    pub(crate) fn earlier(&self) -> MutexGuard<'_, Vec<ServerProcess>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, processes: &[ServerProcess]) -> io::Result<()> {
        if processes.is_empty() {
            return Ok(());
        }
        let mut file = private_file(&self.path)?;
        file.seek(SeekFrom::End(0))?;
        // The last line may be half written.
        let mut text = vec![b'\n'];
        text.extend(lines(processes)?);
        file.write_all(&text)
    }
}

impl Drop for Record {
    /// The servers of this process end with it; those of earlier ones may not have ended.
    fn drop(&mut self) {
        let earlier = self.earlier();
        let kept = match lines(&earlier) {
            Ok(lines) if !lines.is_empty() => {
                // In one step, so that a kill leaves the one or the other.
                let new = self.path.with_extension("new");
                let written = private_file(&new).and_then(|mut file| {
                    file.set_len(0)?;
                    file.write_all(&lines)
                });
                written.and_then(|()| fs::rename(&new, &self.path))
            }
            _ => fs::remove_file(&self.path),
        };
        // There is nobody left to tell. What stays behind in vain is found to be so by the next process.
        drop(kept);
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

/// What the file at `path` names and this process has not started.
pub(crate) fn earlier(path: &Path) -> io::Result<Vec<ServerProcess>> {
    let mut processes = read(path)?;
    let own = own();
    processes.retain(|process| !own.running.contains(process));
    Ok(processes)
}

fn read(path: &Path) -> io::Result<Vec<ServerProcess>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // A line that is empty or half written is none.
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.filter_map(Result::ok).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Record, ServerProcess, earlier, forget_server_process, record_server_process};

    fn process(server: &str, pid: u32) -> ServerProcess {
        ServerProcess {
            server: server.to_owned(),
            pid,
            started: "1".to_owned(),
        }
    }

    #[test]
    fn what_a_killed_process_has_started_is_found_until_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run-a.servers");
        let first = Record::open(path.clone()).unwrap();
        assert!(!path.exists());
        record_server_process(process("a", 1_000_001)).unwrap();
        record_server_process(process("b", 1_000_002)).unwrap();
        // The process is killed: it does not remove the file, and what it was writing is cut off.
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"server\":\"c\",\"pi");
        drop(first);
        assert!(!path.exists());
        for pid in [1_000_001, 1_000_002] {
            forget_server_process(pid);
        }
        fs::write(&path, text).unwrap();

        let second = Record::open(path.clone()).unwrap();
        let left = [process("a", 1_000_001), process("b", 1_000_002)];
        assert_eq!(*second.earlier(), left);
        record_server_process(process("d", 1_000_003)).unwrap();
        let of_earlier = || -> Vec<ServerProcess> {
            let mut found = earlier(&path).unwrap();
            found.retain(|process| process.pid / 10 == 100_000);
            found
        };
        assert_eq!(of_earlier(), left);
        // One of them has ended: the next process need only look at the other.
        *second.earlier() = vec![process("b", 1_000_002)];
        drop(second);
        forget_server_process(1_000_003);
        assert_eq!(of_earlier(), left[1..]);
        let third = Record::open(path.clone()).unwrap();
        third.earlier().clear();
        drop(third);
        assert!(!path.exists());
    }
}
