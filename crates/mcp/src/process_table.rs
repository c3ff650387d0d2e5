//! Processes of this machine, identified by their id and start time, because the system reuses ids.

/// Returns the start time of the process `pid`, in a form that is only good for comparison with other processes of the
/// same id. Returns `None` if the process does not exist or the system does not provide the time.
pub fn started_at(pid: u32) -> Option<String> {
    system::started_at(pid)
}

/// Returns true if the process with this start time, or another process of its group, is running.
pub fn is_running(pid: u32, started: &str) -> bool {
    !system::members(pid, started).is_empty()
}

/// Kills the process with this start time, the other processes of its group, and all their descendants.
pub fn kill(pid: u32, started: &str) {
    system::kill(pid, started);
}

#[cfg(target_os = "linux")]
pub(crate) use system::{descendants, kill_all};

#[cfg(target_os = "linux")]
mod system {
    use std::collections::HashSet;
    use std::fs;

    use nix::sys::signal::{Signal, kill as send};
    use nix::unistd::Pid;

    /// A process of the table.
    struct ProcessEntry {
        pid: u32,
        parent: u32,
        group: u32,
        /// The start time in clock ticks since boot.
        started: String,
    }

    pub(super) fn started_at(pid: u32) -> Option<String> {
        Some(stamp(&entry(pid)?, &boot()?))
    }

    /// Returns the ids of the process and of the other members of the group that it leads. The list is empty if another process
    /// has the id by now.
    pub(super) fn members(pid: u32, started: &str) -> Vec<u32> {
        let Some(boot) = boot() else {
            return Vec::new();
        };
        let table = table();
        let is_other = |entry: &ProcessEntry| entry.pid == pid && stamp(entry, &boot) != started;
        // A start time of another boot belongs to no present process.
        if !started.starts_with(&boot) || table.iter().any(is_other) {
            return Vec::new();
        }
        let members = table
            .iter()
            .filter(|entry| entry.group == pid || entry.pid == pid);
        members.map(|entry| entry.pid).collect()
    }

    pub(super) fn kill(pid: u32, started: &str) {
        let members = members(pid, started);
        let mut all = descendants(&members);
        all.extend(members);
        kill_all(all);
    }

    /// Kills these processes. Processes that have ended meanwhile are ignored.
    pub(crate) fn kill_all(pids: impl IntoIterator<Item = u32>) {
        for pid in pids.into_iter().filter_map(|pid| i32::try_from(pid).ok()) {
            let _ = send(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Returns all descendants of these processes, as far as their parents are still running.
    pub(crate) fn descendants(roots: &[u32]) -> Vec<u32> {
        let table = table();
        let mut known: HashSet<u32> = roots.iter().copied().collect();
        let mut found = Vec::new();
        loop {
            let children = table
                .iter()
                .filter(|entry| known.contains(&entry.parent) && !known.contains(&entry.pid))
                .map(|entry| entry.pid);
            let children: Vec<u32> = children.collect();
            if children.is_empty() {
                return found;
            }
            known.extend(&children);
            found.extend(children);
        }
    }

    /// Returns all running processes, without zombies.
    fn table() -> Vec<ProcessEntry> {
        let Ok(folder) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter_map(entry).collect()
    }

    fn entry(pid: u32) -> Option<ProcessEntry> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may contain any character.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let state = *fields.first()?;
        // Zombies and dead processes do not run any more.
        if matches!(state, "Z" | "X" | "x") {
            return None;
        }
        Some(ProcessEntry {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: (*fields.get(19)?).to_owned(),
        })
    }

    fn stamp(entry: &ProcessEntry, boot: &str) -> String {
        format!("{boot}/{}", entry.started)
    }

    /// Returns the id of the current boot.
    fn boot() -> Option<String> {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn started_at(_: u32) -> Option<String> {
        None
    }

    pub(super) fn members(_: u32, _: &str) -> Vec<u32> {
        Vec::new()
    }

    pub(super) fn kill(_: u32, _: &str) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::{is_running, kill, started_at};

    #[test]
    fn knows_a_process_by_its_start() {
        let shell = "setsid sleep 1000 & sleep 1000 & wait";
        let mut child = Command::new("sh")
            .args(["-c", shell])
            .process_group(0)
            .spawn()
            .unwrap();
        let started = started_at(child.id()).unwrap();
        assert!(is_running(child.id(), &started));
        let other = started_at(1).unwrap();
        assert!(!is_running(child.id(), &other));
        assert!(!is_running(child.id(), "another start/1"));
        // A process that has reused the id is not killed.
        kill(child.id(), &other);
        assert!(is_running(child.id(), &started));
        kill(child.id(), &started);
        child.wait().unwrap();
        assert_eq!(started_at(child.id()), None);
    }
}
