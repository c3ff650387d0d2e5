//! Servers that outlive the process that started them. A run must not repeat a call that such a server may still be executing.

use std::sync::Arc;
use std::time::Duration;

use planwright_engine::event::Address;
use planwright_engine::run::{Choice, History};
#[cfg(feature = "mcp")]
use planwright_mcp::{ProcessObserver, process_table};
use planwright_store::{LeasedRun, ServerProcess};
#[cfg(feature = "mcp")]
use planwright_store::{register_server_process, unregister_server_process};

/// The interval of polling for the end of processes.
const PAUSE: Duration = Duration::from_millis(10);

/// Records the processes of servers with the runs that this process holds, in any store. For
/// [`ConnectOptions::processes`](planwright_mcp::ConnectOptions::processes).
#[cfg(feature = "mcp")]
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordProcesses;

#[cfg(feature = "mcp")]
impl ProcessObserver for RecordProcesses {
    fn started(&self, server: &str, pid: u32) {
        let Some(started) = process_table::started_at(pid) else {
            return;
        };
        let process = ServerProcess {
            server: server.into(),
            pid,
            started,
        };
        if let Err(error) = register_server_process(process) {
            tracing::warn!(server, pid, %error, "the process of a server could not be recorded");
        }
    }

    fn ended(&self, pid: u32) {
        unregister_server_process(pid);
    }
}

/// The servers of earlier processes of a run that still run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrphanedServers(Vec<ServerProcess>);

impl OrphanedServers {
    /// The servers of a run that this process leases.
    pub fn of(leased: &LeasedRun) -> Self {
        let orphans = Self::among(leased.earlier_server_processes());
        leased.set_server_processes(orphans.0.clone());
        orphans
    }

    /// Returns the servers among `processes` that are still running. A program without MCP cannot determine that, so all of them count as
    /// running.
    pub(super) fn among(processes: Vec<ServerProcess>) -> Self {
        #[cfg(feature = "mcp")]
        let processes = {
            let is_running =
                |process: &ServerProcess| process_table::is_running(process.pid, &process.started);
            processes.into_iter().filter(is_running).collect()
        };
        Self(processes)
    }

    /// Waits at most `limit` until all of these servers have ended. Returns those that have not.
    pub async fn wait(self, leased: &LeasedRun, limit: Duration) -> Self {
        let mut orphans = self;
        let ended = async {
            while !orphans.0.is_empty() {
                tokio::time::sleep(PAUSE).await;
                orphans = Self::of(leased);
            }
        };
        // The servers that still run are returned.
        let _ = tokio::time::timeout(limit, ended).await;
        orphans
    }

    /// Kills the servers and all processes that they have started.
    #[cfg(feature = "mcp")]
    pub fn kill(&self) {
        for process in &self.0 {
            process_table::kill(process.pid, &process.started);
        }
    }

    /// Returns true if there are no servers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the processes of the servers.
    pub fn processes(&self) -> &[ServerProcess] {
        &self.0
    }

    /// Returns the first call to repeat that a server may still be executing.
    pub(super) fn conflict(
        &self,
        history: &History,
        choices: &[(Arc<str>, Choice)],
    ) -> Option<(&ServerProcess, Arc<Address>)> {
        let retried = |at: &Address| {
            let at = at.to_string();
            let mut choices = choices.iter();
            choices.any(|(step, choice)| **step == *at && *choice == Choice::Retry)
        };
        let mut conflicts = history
            .steps()
            .filter(|(at, _)| retried(at))
            .flat_map(|(at, past)| past.calls_in_doubt().map(move |call| (at, call)));
        conflicts.find_map(|(at, call)| {
            let mut processes = self.0.iter();
            let process = processes.find(|process| *process.server == *call.server)?;
            Some((process, Arc::clone(at)))
        })
    }
}
