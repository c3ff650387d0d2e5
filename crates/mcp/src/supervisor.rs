//! A supervisor process between this one and a server, which ends the server and its descendants after this process has died.
//!
//! A server can ignore that its input ends, and after a `SIGKILL` of this process, no process remains that would end it. So a
//! program can start servers through itself, in two stages: first as their supervisor, which the kernel notifies of its parent's
//! death and which adopts every orphan among its descendants; then as the server itself, which the kernel kills together with its
//! supervisor.
//!
//! Supervision is available on Linux only; on other systems, servers are started directly.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use crate::config::ProgramConfig;

#[cfg(target_os = "linux")]
pub(crate) use imp::KILL_SIGNAL;

/// The first argument of a program that must call [`supervise`].
pub const SUPERVISE: &str = "--planwright-supervise";

/// The program that supervises servers: its `main` calls [`supervise`] if its first argument is [`SUPERVISE`].
#[derive(Clone, Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "servers are started directly there")
)]
pub struct Supervisor {
    program: PathBuf,
    search_path: Option<OsString>,
}

impl Supervisor {
    /// Creates a supervisor that runs `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            search_path: None,
        }
    }

    /// Sets the directories in which commands are searched, in the format of `PATH`, so that a missing command is reported like
    /// without a supervisor.
    #[must_use]
    pub fn search_path(mut self, path: Option<OsString>) -> Self {
        self.search_path = path;
        self
    }

    /// Creates a supervisor that runs the executable of this process, even if its file has been replaced. Returns
    /// `None` if the system does not support that.
    pub fn this_program() -> Option<Self> {
        let program = PathBuf::from("/proc/self/exe");
        (cfg!(target_os = "linux") && program.exists()).then(|| Self::new(program))
    }

    /// Returns the command that starts the server under supervision.
    ///
    /// # Errors
    ///
    /// Fails if the command does not exist or is not executable.
    #[cfg(target_os = "linux")]
    pub(crate) fn command(&self, config: &ProgramConfig) -> io::Result<std::process::Command> {
        self.find(config)?;
        let mut supervisor = std::process::Command::new(&self.program);
        supervisor
            .arg(SUPERVISE)
            .arg(std::process::id().to_string())
            .arg(&config.command)
            .args(&config.args);
        Ok(supervisor)
    }

    /// Searches for the command as the system does.
    #[cfg(target_os = "linux")]
    fn find(&self, config: &ProgramConfig) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let name = Path::new(&config.command);
        let is_program = |path: &Path| match path.metadata() {
            Ok(found) if found.is_dir() || found.permissions().mode() & 0o111 == 0 => {
                Err(io::Error::from(io::ErrorKind::PermissionDenied))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        let folder = config.cwd.as_deref().unwrap_or(Path::new("."));
        if config.command.contains('/') {
            return is_program(&folder.join(name));
        }
        let mut own = config.env.iter().rev();
        let path = match own.find(|(name, _)| name == "PATH") {
            Some((_, path)) => path.as_ref().map(OsString::from),
            None => self.search_path.clone(),
        };
        let Some(path) = path else {
            // Without `PATH` the system uses default directories, which this search does not know.
            return Ok(());
        };
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for place in std::env::split_paths(&path) {
            match is_program(&folder.join(place).join(name)) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }
}

/// Runs the server that `arguments` name, and returns the exit status of this process. `arguments` are those after [`SUPERVISE`].
/// Must be called at the start of `main`, before any other thread exists.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    imp::supervise(&arguments.into_iter().collect::<Vec<_>>())
}

#[cfg(target_os = "linux")]
mod imp {
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::AsFd;
    use std::os::unix::process::{CommandExt, parent_id};
    use std::process::{Command, id};

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::prctl;
    use nix::sys::signal::{SigSet, Signal, kill, raise};
    use nix::sys::signalfd::{SfdFlags, SignalFd};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout};

    use super::SUPERVISE;
    use crate::process_table::{descendants, kill_all};

    /// The argument that marks the second stage, which becomes the server.
    const EXEC_STAGE: &str = "become";

    /// The interval between two checks of terminating processes, in milliseconds, and the number of checks before they
    /// are killed.
    const POLL_INTERVAL_MS: u8 = 10;
    const GRACE_POLLS: u32 = 50;

    /// The exit statuses of a shell for a command that cannot be run, and of `timeout` for its own failure.
    const EXIT_NOT_RUN: u8 = 126;
    const EXIT_FAILED: u8 = 125;

    /// Requests the supervisor to kill all descendants.
    pub(crate) const KILL_SIGNAL: Signal = Signal::SIGUSR1;

    /// Notifies the supervisor that its parent may have died.
    const PARENT_SIGNAL: Signal = Signal::SIGUSR2;

    pub(super) fn supervise(arguments: &[OsString]) -> u8 {
        let done = match arguments {
            [stage, parent, command @ ..] if stage == EXEC_STAGE => exec_server(parent, command),
            [parent, command @ ..] => {
                SupervisorProcess::start(parent, command).map(SupervisorProcess::run)
            }
            [] => Err(Errno::EINVAL),
        };
        done.unwrap_or(EXIT_FAILED)
    }

    fn is_parent(parent: &OsString) -> bool {
        let parent = parent.to_str().and_then(|parent| parent.parse().ok());
        parent == Some(parent_id())
    }

    /// Executes the server, which the kernel kills when the supervisor dies.
    fn exec_server(supervisor: &OsString, command: &[OsString]) -> Result<u8, Errno> {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        let [program, args @ ..] = command else {
            return Err(Errno::EINVAL);
        };
        // The supervisor may have died before `set_pdeathsig` took effect.
        if !is_parent(supervisor) {
            return Ok(EXIT_FAILED);
        }
        // Blocked signals are inherited.
        handled_signals().thread_unblock()?;
        let error = Command::new(program).args(args).exec();
        let message = format!("`{}` could not be run: {error}\n", program.display());
        // Standard error may be closed, and no other channel is available.
        let _ = io::stderr().write_all(message.as_bytes());
        Ok(EXIT_NOT_RUN)
    }

    /// Returns the signals that a supervisor handles.
    fn handled_signals() -> SigSet {
        SigSet::from_iter([
            Signal::SIGCHLD,
            Signal::SIGTERM,
            Signal::SIGINT,
            Signal::SIGHUP,
            KILL_SIGNAL,
            PARENT_SIGNAL,
        ])
    }

    /// The state of the shutdown.
    #[derive(Clone, Copy)]
    enum ShutdownPhase {
        Running,
        /// All descendants have received `SIGTERM` and are killed after this number of intervals.
        Ending(u32),
        Killing,
    }

    struct SupervisorProcess {
        parent: u32,
        signals: SignalFd,
        server: Pid,
        status: Option<WaitStatus>,
        phase: ShutdownPhase,
    }

    impl SupervisorProcess {
        fn start(parent: &OsString, command: &[OsString]) -> Result<Self, Errno> {
            // This precedes the check of the parent, so that its death is never missed.
            prctl::set_pdeathsig(PARENT_SIGNAL)?;
            prctl::set_child_subreaper(true)?;
            // The supervisor may end by the signal of its server, and one core dump is enough.
            prctl::set_dumpable(false)?;
            let handled = handled_signals();
            handled.thread_block()?;
            let signals = SignalFd::with_flags(&handled, SfdFlags::SFD_CLOEXEC)?;
            if !is_parent(parent) {
                return Err(Errno::ESRCH);
            }
            let server = Command::new("/proc/self/exe")
                .arg(SUPERVISE)
                .arg(EXEC_STAGE)
                .arg(id().to_string())
                .args(command)
                .spawn()
                .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
            // Only the server may have the pipes open, so that their readers notice when the server closes them.
            if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
                dup2_stdin(&nothing)?;
                dup2_stdout(&nothing)?;
                dup2_stderr(&nothing)?;
            }
            Ok(Self {
                parent: parent_id(),
                signals,
                server: Pid::from_raw(i32::try_from(server.id()).unwrap_or_default()),
                status: None,
                phase: ShutdownPhase::Running,
            })
        }

        /// Waits until all descendants have ended. Returns the exit status.
        fn run(mut self) -> u8 {
            loop {
                if !self.reap() {
                    return self.status.map_or(EXIT_FAILED, exit_like);
                }
                if self.status.is_some() && matches!(self.phase, ShutdownPhase::Running) {
                    self.terminate();
                }
                let timeout = match self.phase {
                    ShutdownPhase::Running => PollTimeout::NONE,
                    ShutdownPhase::Ending(1..) => PollTimeout::from(POLL_INTERVAL_MS),
                    ShutdownPhase::Ending(0) | ShutdownPhase::Killing => {
                        kill_all(descendants(&[id()]));
                        PollTimeout::from(POLL_INTERVAL_MS)
                    }
                };
                let mut waiting = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
                match poll(&mut waiting, timeout) {
                    Ok(0) => {
                        if let ShutdownPhase::Ending(pauses) = &mut self.phase {
                            *pauses = pauses.saturating_sub(1);
                        }
                    }
                    Err(Errno::EINTR) => {}
                    Ok(_) => self.take_signal(),
                    // Without `poll`, the supervisor would notice no further event.
                    Err(_) => self.phase = ShutdownPhase::Killing,
                }
            }
        }

        fn take_signal(&mut self) {
            let Ok(Some(signal)) = self.signals.read_signal() else {
                return;
            };
            match i32::try_from(signal.ssi_signo).map(Signal::try_from) {
                Ok(Ok(KILL_SIGNAL)) => self.phase = ShutdownPhase::Killing,
                // The kernel sends the signal also if only the thread that started this process has ended.
                Ok(Ok(PARENT_SIGNAL)) if parent_id() != self.parent => self.terminate(),
                Ok(Ok(signal @ (Signal::SIGTERM | Signal::SIGINT | Signal::SIGHUP))) => {
                    signal_descendants(signal);
                }
                _ => {}
            }
        }

        /// Sends `SIGTERM` to all descendants.
        fn terminate(&mut self) {
            if matches!(self.phase, ShutdownPhase::Running) {
                signal_descendants(Signal::SIGTERM);
                self.phase = ShutdownPhase::Ending(GRACE_POLLS);
            }
        }

        /// Reaps the children that have ended. Returns true if any are left.
        fn reap(&mut self) -> bool {
            loop {
                match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                    Ok(WaitStatus::StillAlive) => return true,
                    Ok(status) if status.pid() == Some(self.server) => self.status = Some(status),
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(_) => return false,
                }
            }
        }
    }

    /// Sends a signal to all descendants.
    fn signal_descendants(signal: Signal) {
        for pid in descendants(&[id()]) {
            let pid = i32::try_from(pid).unwrap_or_default();
            // A process that has ended meanwhile needs no signal.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Ends this process as the server has ended: with its status, or by its signal.
    fn exit_like(status: WaitStatus) -> u8 {
        match status {
            WaitStatus::Exited(_, status) => u8::try_from(status).unwrap_or(EXIT_FAILED),
            WaitStatus::Signaled(_, signal, _) => {
                let mut own = SigSet::empty();
                own.add(signal);
                let _ = own.thread_unblock();
                let _ = raise(signal);
                // The signal does not end a process by default.
                EXIT_FAILED
            }
            _ => EXIT_FAILED,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::ffi::OsString;

    pub(super) fn supervise(_: &[OsString]) -> u8 {
        125
    }
}
