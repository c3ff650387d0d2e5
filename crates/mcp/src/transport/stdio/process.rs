//! The process of a server and its descendants, and messages as lines over its pipes. Lines are length-limited, and invalid text in
//! them is repaired.
//!
//! A server leads a process group of its own, because wrappers such as `npx` and `uvx` start the real server as a
//! child, and the end of a connection must end the whole group. With a [`Supervisor`], that is the
//! leader, and it ends all descendants in any group or session.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};

use super::stderr_log::StderrLog;
use crate::config::ProgramConfig;
use crate::session::router::ResponseRouter;
use crate::supervisor::Supervisor;
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

/// The maximum buffer capacity that is retained between lines.
const MAX_RETAINED_CAPACITY: usize = 1 << 20;

/// The read size: the capacity of a pipe on Linux.
const READ_SIZE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct BoundedLineReader<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    is_complete: bool,
    /// True if the line is longer than the limit.
    is_truncated: bool,
    limit: usize,
}

/// A complete line, or the part of a longer one within the limit.
#[cfg(feature = "gateway")]
pub(crate) enum BoundedLine<'a> {
    Complete(&'a [u8]),
    Truncated(&'a [u8]),
}

impl<R: AsyncRead + Unpin> BoundedLineReader<R> {
    pub(crate) fn new(read: R, limit: usize) -> Self {
        Self {
            read: BufReader::with_capacity(READ_SIZE, read),
            line: Vec::new(),
            is_complete: false,
            is_truncated: false,
            limit,
        }
    }

    /// Returns the next line without its terminator, or `None` at the end of the stream. An unterminated last line is
    /// dropped, because its writer died before it was complete. Cancel safe: dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// Returns an error of the stream, or [`io::ErrorKind::FileTooLarge`] for a line beyond the limit.
    pub(crate) async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.advance(false).await?;
        Ok(self.is_complete.then(|| self.line.trim_ascii()))
    }

    /// Returns the next line like [`next`](Self::next), but truncates a line beyond the limit and skips its rest.
    ///
    /// # Errors
    ///
    /// Returns an error of the stream.
    #[cfg(feature = "gateway")]
    pub(crate) async fn next_truncated(&mut self) -> io::Result<Option<BoundedLine<'_>>> {
        self.advance(true).await?;
        Ok(self.is_complete.then(|| {
            if self.is_truncated {
                BoundedLine::Truncated(&self.line)
            } else {
                BoundedLine::Complete(self.line.trim_ascii())
            }
        }))
    }

    /// Reads to the end of a line, which is then complete, or to the end of the stream.
    async fn advance(&mut self, truncates: bool) -> io::Result<()> {
        if self.is_complete {
            self.line.clear();
            // One large result must not occupy its memory for the rest of the session.
            self.line.shrink_to(MAX_RETAINED_CAPACITY);
            self.is_complete = false;
            self.is_truncated = false;
        }
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(());
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            let room = self.limit.saturating_sub(self.line.len());
            if taken > room {
                if !truncates {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                self.is_truncated = true;
            }
            self.line.extend_from_slice(&available[..taken.min(room)]);
            self.read.consume(end.map_or(taken, |end| end + 1));
            if end.is_some() {
                self.is_complete = true;
                return Ok(());
            }
        }
    }
}

/// The transport that `rmcp` uses.
///
/// It replaces that of `rmcp`, which leaves a caller waiting forever if a result is too long or invalid JSON, and lets messages
/// overtake each other, for example a request and its cancellation.
#[derive(Debug)]
pub(crate) struct PipeTransport<R> {
    lines: BoundedLineReader<R>,
    outgoing: Option<mpsc::UnboundedSender<QueuedLine>>,
    router: Arc<ResponseRouter>,
    log: Arc<StderrLog>,
    problem: Arc<OnceLock<String>>,
}

/// A serialized message, and the channel for the result of writing it.
#[derive(Debug)]
struct QueuedLine {
    line: Vec<u8>,
    sent: oneshot::Sender<io::Result<()>>,
}

impl<R: AsyncRead + Unpin> PipeTransport<R> {
    /// Creates a transport over `stdout` and `stdin`. Lines that are not messages go to the `log`.
    pub(crate) fn new(stdout: R, stdin: ChildStdin, limit: usize, log: Arc<StderrLog>) -> Self {
        let (outgoing, queue) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, queue));
        Self {
            lines: BoundedLineReader::new(stdout, limit),
            outgoing: Some(outgoing),
            router: Arc::default(),
            log,
            problem: Arc::default(),
        }
    }

    pub(crate) fn router(&self) -> Arc<ResponseRouter> {
        Arc::clone(&self.router)
    }

    pub(crate) fn problem(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.problem)
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleClient> for PipeTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Messages are queued here and not when the future is polled, so that they keep their order.
        self.router.record_outgoing(&message);
        let queued = serde_json::to_vec(&message)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                let (sent, confirmation) = oneshot::channel();
                self.outgoing
                    .as_ref()
                    .and_then(|queue| queue.send(QueuedLine { line, sent }).ok())
                    .ok_or(io::ErrorKind::BrokenPipe)?;
                Ok(confirmation)
            });
        async move {
            queued?
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    // The request that the message answers is unknown and would wait forever, so the connection ends.
                    let problem = match error.kind() {
                        io::ErrorKind::FileTooLarge => {
                            "it sent a message that is longer than the limit".to_owned()
                        }
                        _ => format!("its output could not be read: {error}"),
                    };
                    // Only the first problem counts, because it has ended the connection.
                    self.problem.get_or_init(|| problem);
                    return None;
                }
            };
            if line.is_empty() {
                continue;
            }
            let message = self.router.decode(line, None);
            if message.is_some() {
                return message;
            }
            self.log.add_stdout_line(line);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The writer ends with its queue and closes the server's input.
        self.outgoing = None;
        Ok(())
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<QueuedLine>) {
    while let Some(QueuedLine { line, sent }) = queue.recv().await {
        let mut outcome = stdin.write_all(&line).await;
        if outcome.is_ok() {
            outcome = stdin.flush().await;
        }
        let failed = outcome.is_err();
        // The receiver is gone if the call was cancelled.
        let _ = sent.send(outcome);
        if failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::BoundedLineReader;

    #[tokio::test]
    async fn reads_lines_within_the_limit() {
        let mut reader =
            BoundedLineReader::new(&b"one\r\n\n  two \nexactly10!\nelevenbytes\n"[..], 10);
        for expected in ["one", "", "two", "exactly10!"] {
            assert_eq!(reader.next().await.unwrap(), Some(expected.as_bytes()));
        }
        let error = reader.next().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);

        let mut reader = BoundedLineReader::new(&b"whole\ncut of"[..], 100);
        assert_eq!(reader.next().await.unwrap(), Some(&b"whole"[..]));
        assert_eq!(reader.next().await.unwrap(), None);
    }
}
