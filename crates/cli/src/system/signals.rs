//! The signals that ask the program to end: Ctrl-C, on Unix also SIGTERM and SIGHUP, on Windows also Ctrl-Break and the end of the
//! console or the session.

use std::time::Duration;

#[cfg(windows)]
use tokio::signal::windows;
use tokio::sync::oneshot;

use super::echo;
use crate::error::{CommandError, reason};
use crate::view::pager;

/// The time limit for a command to end by itself. A command that computes, such as the check of a very large plan, does not react
/// meanwhile.
const GRACE: Duration = Duration::from_secs(2);

/// A receiver of all signals since its creation. Signals that arrive while no future waits are not lost.
pub(crate) struct Signals {
    #[cfg(unix)]
    kinds: [tokio::signal::unix::Signal; 3],
    #[cfg(windows)]
    interrupt: windows::CtrlC,
    #[cfg(windows)]
    stop: windows::CtrlBreak,
    #[cfg(windows)]
    close: windows::CtrlClose,
    #[cfg(windows)]
    shutdown: windows::CtrlShutdown,
    has_received: bool,
}

/// The origin of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalKind {
    /// A person has pressed Ctrl-C.
    Interrupt,
    /// The system, or another program, asks the process to end.
    Terminate,
}

impl Signals {
    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> SignalKind {
        let kind = self.receive().await;
        self.has_received = true;
        kind
    }

    /// Returns true if a signal was received.
    pub(crate) fn has_received(&self) -> bool {
        self.has_received
    }
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> Result<Self, CommandError> {
        use tokio::signal::unix::{SignalKind as Unix, signal};
        let listen = |kind| {
            signal(kind).map_err(|error| {
                CommandError::new(format!("cannot listen for signals: {}", reason(&error)))
                    .internal(error)
            })
        };
        Ok(Self {
            kinds: [
                listen(Unix::interrupt())?,
                listen(Unix::terminate())?,
                listen(Unix::hangup())?,
            ],
            has_received: false,
        })
    }

    async fn receive(&mut self) -> SignalKind {
        let [interrupt, terminate, hangup] = &mut self.kinds;
        tokio::select! {
            _ = interrupt.recv() => SignalKind::Interrupt,
            _ = terminate.recv() => SignalKind::Terminate,
            _ = hangup.recv() => SignalKind::Terminate,
        }
    }
}

/// Lets a write beyond the limit of `ulimit -f` fail like one on a full disk. Without a handler, the system kills the process silently.
pub(crate) fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        use nix::sys::signal::Signal;
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays in place when the stream is dropped. If it cannot be set up, the system's own way stays.
        let _ = signal(SignalKind::from_raw(Signal::SIGXFSZ as i32));
    }
}

impl Signals {
    /// Makes every further signal end the process at once, since only output remains.
    pub(crate) fn leave_on_next(mut self) {
        tokio::spawn(async move {
            self.next().await;
            leave();
        });
    }

    /// Returns a receiver that completes at the first signal. The second signal, or a timeout after the first, ends the process. Not for
    /// commands with a run in progress.
    pub(crate) fn exit_after_first(mut self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            self.next().await;
            while pager::is_shown() {
                self.next().await;
            }
            // Without a receiver, the process is about to end.
            let _ = sender.send(());
            tokio::select! {
                _ = self.next() => {}
                () = tokio::time::sleep(GRACE) => {}
            }
            leave();
        });
        receiver
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "a person asks for it, and no run is in progress"
)]
fn leave() -> ! {
    echo::restore_controls();
    echo::restore();
    std::process::exit(i32::from(crate::error::Exit::Interrupted.code()))
}

#[cfg(windows)]
impl Signals {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let failed = |error: std::io::Error| {
            CommandError::new(format!("cannot listen for signals: {}", reason(&error)))
                .internal(error)
        };
        Ok(Self {
            interrupt: windows::ctrl_c().map_err(failed)?,
            stop: windows::ctrl_break().map_err(failed)?,
            close: windows::ctrl_close().map_err(failed)?,
            shutdown: windows::ctrl_shutdown().map_err(failed)?,
            has_received: false,
        })
    }

    async fn receive(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::Interrupt,
            _ = self.stop.recv() => SignalKind::Terminate,
            _ = self.close.recv() => SignalKind::Terminate,
            _ = self.shutdown.recv() => SignalKind::Terminate,
        }
    }
}
