//! The process of a server and its descendants, and the end of its standard error output.
//!
//! A server leads a process group of its own, because wrappers such as `npx` and `uvx` start the real server as a
//! child, and the end of a connection must end the whole group. With a [`Supervisor`], that is the
//! leader, and it ends all descendants in any group or session.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright_engine::run::Redactor;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::config::ProgramConfig;
use crate::session::envelope;
use crate::supervisor::Supervisor;
use crate::upstream::ConnectOptions;

/// The time that the rest of a group gets to end after `SIGTERM`. Its members are not our children, so their end can
/// only be polled.
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

/// The capacity in bytes.
const CAPACITY: usize = 64 << 10;

/// The number of bytes that an error shows.
const MAX_SHOWN: usize = 2 << 10;

/// The number of bytes stored of a line on standard output that is not a message.
const MAX_NOISE: usize = 200;

/// The standard error output of one server across its starts.
#[derive(Debug)]
pub(crate) struct StderrLog {
    // Held for a copy of at most the capacity, never across an await.
    tail: Mutex<LogTail>,
    strays: Mutex<StrayLines>,
    redactor: Redactor,
}

/// The lines on standard output that are no messages for this client.
#[derive(Debug, Default)]
struct StrayLines {
    count: u64,
    /// A description of the last one, as a clause whose subject is the server.
    last: String,
}

#[derive(Debug, Default)]
struct LogTail {
    bytes: VecDeque<u8>,
    /// True if earlier output was dropped.
    is_truncated: bool,
}

impl StderrLog {
    /// Creates a log that redacts the `secrets`.
    pub(crate) fn new(secrets: Vec<Arc<str>>) -> Self {
        Self {
            tail: Mutex::default(),
            strays: Mutex::default(),
            redactor: Redactor::new(secrets),
        }
    }

    /// Appends `bytes`, and drops the oldest ones beyond the capacity.
    pub(crate) fn add(&self, bytes: &[u8]) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (tail.bytes.len() + bytes.len()).saturating_sub(CAPACITY);
        tail.is_truncated |= excess > 0;
        let old = excess.min(tail.bytes.len());
        tail.bytes.drain(..old);
        tail.bytes.extend(&bytes[excess - old..]);
    }

    /// Appends the beginning of a line on standard output that is not a message, or answers no request.
    pub(crate) fn add_stdout_line(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let shown = self.redactor.cut(&text, MAX_NOISE);
        let stray = envelope::describe_stray(line, |text| self.redactor.cut(text, MAX_NOISE));
        self.add(format!("[on stdout, not a message] {shown}\n").as_bytes());
        let mut strays = self.strays();
        strays.count += 1;
        strays.last = stray;
    }

    /// Returns the number of lines on standard output so far that were no messages for this client.
    pub(crate) fn stray_count(&self) -> u64 {
        self.strays().count
    }

    /// Describes the last line on standard output that was no message for this client, if there is one after the first `count` ones.
    pub(crate) fn stray_since(&self, count: u64) -> Option<String> {
        let strays = self.strays();
        (strays.count > count).then(|| strays.last.clone())
    }

    fn strays(&self) -> MutexGuard<'_, StrayLines> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stored output, after an ellipsis if earlier output was dropped.
    pub(crate) fn text(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = tail.bytes.as_slices();
        let bytes = [first, second].concat();
        let is_truncated = tail.is_truncated;
        drop(tail);
        let text = String::from_utf8_lossy(&bytes);
        // The mark also tells the redactor that a secret may lack its beginning.
        let mark = if is_truncated { "…" } else { "" };
        self.redactor.text(&format!("{mark}{text}")).into_owned()
    }

    /// Returns the end of the output, in whole lines if possible.
    pub(crate) fn tail(&self) -> String {
        let text = self.text();
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(MAX_SHOWN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let tail = &text[start..];
        match tail.split_once('\n') {
            Some((_, whole)) if start > 0 && !whole.is_empty() => whole.to_owned(),
            _ if start > 0 => format!("…{tail}"),
            _ => tail.to_owned(),
        }
    }
}

pub(crate) fn truncate_message(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SHOWN {
        return Cow::Borrowed(text);
    }
    let mut end = MAX_SHOWN;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}…", &text[..end]))
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

#[cfg(test)]
mod tests {
    use super::{CAPACITY, MAX_SHOWN, StderrLog, truncate_message};

    #[test]
    fn keeps_the_end() {
        let log = StderrLog::new(vec!["tok-123".into()]);
        assert_eq!(log.tail(), "");
        log.add(b"using tok-123\n");
        assert_eq!(log.text(), "using [redacted]\n");
        log.add(&vec![b'x'; CAPACITY - 4]);
        let limit = CAPACITY + '…'.len_utf8();
        assert!(log.text().starts_with('…'));
        log.add(b"\nlast line\n");
        assert_eq!(log.text().len(), limit);
        assert!(log.text().ends_with("xxx\nlast line\n"));
        assert_eq!(log.tail(), "last line");
        log.add(&vec![b'y'; 3 * CAPACITY]);
        assert_eq!(log.text(), format!("…{}", "y".repeat(CAPACITY)));
        log.add("ä".repeat(MAX_SHOWN).as_bytes());
        assert_eq!(log.tail(), format!("…{}", "ä".repeat(MAX_SHOWN / 2)));
    }

    #[test]
    fn a_cut_shows_no_part_of_a_secret() {
        let log = || StderrLog::new(vec!["tok-1234567890abcdef".into()]);
        let noisy = log();
        noisy.add_stdout_line(format!("{}tok-1234567890abcdef", "x".repeat(185)).as_bytes());
        let text = noisy.text();
        assert!(!text.contains("tok-"), "{text}");
        // In pieces, across two lines, without its beginning.
        let pieces = log();
        pieces.add(b"a tok-12345");
        pieces.add(b"67890abcdef b\ntok-1234567\n890abcdef c");
        assert_eq!(pieces.text(), "a [redacted] b\n[redacted] c");
        let full = log();
        full.add(b"tok-1234567890abcdef\n");
        full.add(&vec![b'x'; CAPACITY - 11]);
        let text = full.text();
        assert!(text.starts_with("…[redacted]\nxxx"), "{}", &text[..40]);
    }

    #[test]
    fn errors_are_brief() {
        let check = |text: &str, expected: &str| assert_eq!(truncate_message(text), expected);
        let whole = "x".repeat(MAX_SHOWN);
        check("no", "no");
        check(&whole, &whole);
        check(&format!("{whole}x"), &format!("{whole}…"));
        check(
            &"é".repeat(MAX_SHOWN),
            &format!("{}…", "é".repeat(MAX_SHOWN / 2)),
        );
    }
}
