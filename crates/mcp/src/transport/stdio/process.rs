//! The process of a server and its descendants.
//!
//! A server leads a process group of its own, because wrappers such as `npx` and `uvx` start the real server as a
//! child, and the end of a connection must end the whole group. With a [`Supervisor`], that is the
//! leader, and it ends all descendants in any group or session.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::config::ProgramConfig;
use crate::supervisor::Supervisor;
use crate::transport::stdio::stderr_log::StderrLog;
use crate::upstream::ConnectOptions;

/// The time that the rest of a group gets to end after `SIGTERM`. Its members are not our children, so their end can
/// only be polled.
#[cfg(unix)]
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// A server process. Dropping it kills the group at once.
#[derive(Debug)]
pub(crate) struct Process {
    group: ProcessGroup,
    phase: watch::Receiver<ProcessPhase>,
    stderr_end: watch::Receiver<bool>,
}

#[derive(Clone, Copy, Debug)]
enum ProcessPhase {
    Running,
    /// The process has ended; others of its group may be running.
    Ended(Option<ExitStatus>),
    /// The whole group has ended, and the system may reuse its id.
    Gone(Option<ExitStatus>),
}

impl ProcessPhase {
    fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Ended(status) | Self::Gone(status) => status,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Process {
    /// Starts the server `name`, with its standard error connected to `log`.
    pub(crate) fn start(
        name: &str,
        config: &ProgramConfig,
        options: &ConnectOptions,
        log: Arc<StderrLog>,
    ) -> io::Result<(Self, Pipes)> {
        let supervisor = options.supervisor.as_ref().filter(|_| SUPPORTS_SUPERVISION);
        let mut child = command(config, supervisor)?.spawn()?;
        let group = ProcessGroup::of(&child, supervisor.is_some());
        let observer = options.processes.clone().zip(child.id());
        // Reported at once: if this process is killed, a resumed run must find the servers that it has left.
        if let Some((observer, pid)) = &observer {
            observer.started(name, *pid);
        }
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let (phase_sender, phase) = watch::channel(ProcessPhase::Running);
        tokio::spawn(async move {
            let status = child.wait().await.ok();
            phase_sender.send_replace(ProcessPhase::Ended(status));
            // Children of the server may outlive it, so the server counts as gone only after them.
            group.end_rest().await;
            if let Some((observer, pid)) = observer {
                observer.ended(pid);
            }
            phase_sender.send_replace(ProcessPhase::Gone(status));
        });
        let (stderr_end_sender, stderr_end) = watch::channel(false);
        tokio::spawn(async move {
            collect_stderr(stderr, &log).await;
            stderr_end_sender.send_replace(true);
        });
        let process = Self {
            group,
            phase,
            stderr_end,
        };
        Ok((process, Pipes { stdin, stdout }))
    }

    /// Waits until the server has ended and its standard error is read, for `timeout` at most. Returns the exit
    /// status.
    pub(crate) async fn wait_for_exit(&self, timeout: Duration) -> Option<ExitStatus> {
        let mut phase = self.phase.clone();
        let mut stderr_end = self.stderr_end.clone();
        // Both may take longer, because a child of the server may hold the pipe; that is not a failure.
        let _ = tokio::time::timeout(timeout, async {
            let _ = phase
                .wait_for(|phase| !matches!(phase, ProcessPhase::Running))
                .await;
            let _ = stderr_end.wait_for(|silent| *silent).await;
        })
        .await;
        self.phase.borrow().status()
    }

    /// Ends the server, whose input is closed: waits `grace`, sends `SIGTERM`, waits `grace` again, then kills it.
    pub(crate) async fn stop(&self, grace: Duration) {
        if self.is_gone_within(grace).await {
            return;
        }
        self.group.terminate();
        if self.is_gone_within(grace).await {
            return;
        }
        self.group.kill();
        // The processes die, but it may take a moment until the system reports that.
        self.is_gone_within(grace).await;
    }

    async fn is_gone_within(&self, grace: Duration) -> bool {
        let mut phase = self.phase.clone();
        let gone = phase.wait_for(|phase| matches!(phase, ProcessPhase::Gone(_)));
        matches!(tokio::time::timeout(grace, gone).await, Ok(Ok(_)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(*self.phase.borrow(), ProcessPhase::Gone(_)) {
            self.group.kill();
        }
    }
}

const SUPPORTS_SUPERVISION: bool = cfg!(target_os = "linux");

#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
struct ProcessGroup {
    leader: Option<nix::unistd::Pid>,
    /// True if the leader is a supervisor.
    is_supervised: bool,
}

#[cfg(unix)]
impl ProcessGroup {
    fn of(child: &Child, is_supervised: bool) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: id.map(nix::unistd::Pid::from_raw),
            is_supervised,
        }
    }

    fn signal(self, signal: Option<nix::sys::signal::Signal>) -> bool {
        self.leader
            .is_some_and(|leader| nix::sys::signal::killpg(leader, signal).is_ok())
    }

    fn is_alive(self) -> bool {
        self.signal(None)
    }

    fn terminate(self) {
        self.send(nix::sys::signal::Signal::SIGTERM);
    }

    fn kill(self) {
        #[cfg(target_os = "linux")]
        if self.is_supervised {
            return self.send(crate::supervisor::KILL_SIGNAL);
        }
        self.send(nix::sys::signal::Signal::SIGKILL);
    }

    /// Sends `signal` to the supervisor, which passes it on, or else to the group.
    fn send(self, signal: nix::sys::signal::Signal) {
        match self.leader {
            // A supervisor that has ended needs no signal.
            Some(leader) if self.is_supervised => {
                let _ = nix::sys::signal::kill(leader, signal);
            }
            _ => {
                self.signal(Some(signal));
            }
        }
    }

    /// Ends the rest of the group after its leader has ended.
    async fn end_rest(self) {
        if self.is_supervised {
            // The supervisor has ended its descendants, unless it was killed itself.
            self.signal(Some(nix::sys::signal::Signal::SIGKILL));
            return;
        }
        let mut pause = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        if self.is_alive() {
            self.terminate();
        }
        while self.is_alive() && waited < GROUP_GRACE {
            tokio::time::sleep(pause).await;
            waited += pause;
            pause *= 2;
        }
        self.kill();
    }
}

/// A placeholder on systems without process groups, where dropping the child kills the process.
#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
struct ProcessGroup;

#[cfg(not(unix))]
impl ProcessGroup {
    fn of(_: &Child, _: bool) -> Self {
        Self
    }

    fn terminate(self) {}

    fn kill(self) {}

    async fn end_rest(self) {}
}

fn command(config: &ProgramConfig, supervisor: Option<&Supervisor>) -> io::Result<Command> {
    let mut command = match supervisor {
        #[cfg(target_os = "linux")]
        Some(supervisor) => Command::from(supervisor.command(config)?),
        _ => {
            let mut command = Command::new(&config.command);
            command.args(&config.args);
            command
        }
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A supervisor ends by itself, after its descendants.
        .kill_on_drop(supervisor.is_none());
    for (name, value) in &config.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(cwd) = &config.cwd {
        command.current_dir(cwd);
    }
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

async fn collect_stderr(mut stderr: ChildStderr, log: &StderrLog) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        log.add(&buffer[..length]);
    }
}
