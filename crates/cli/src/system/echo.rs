//! The echo of the terminal: of what a person types, and of control characters.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// The terminal whose echo is off, with its settings before.
#[cfg(unix)]
static SILENT: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Turns the echo of `terminal` off. A terminal without settings shows what is typed.
#[cfg(unix)]
pub(super) fn hide(terminal: &File) {
    let mut silent = SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    if silent.is_some() {
        return;
    }
    let (Ok(terminal), Ok(before)) = (terminal.try_clone(), tcgetattr(terminal)) else {
        return;
    };
    let mut without_echo = before.clone();
    without_echo.local_flags.remove(LocalFlags::ECHO);
    if tcsetattr(&terminal, SetArg::TCSANOW, &without_echo).is_ok() {
        *silent = Some((terminal, before));
    }
}

/// Turns the echo on again.
#[cfg(unix)]
pub(super) fn restore() {
    let mut silent = SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((terminal, before)) = silent.take() {
        // A terminal that is gone needs no echo.
        let _ = tcsetattr(&terminal, SetArg::TCSANOW, &before);
    }
}

/// Changes nothing: there is no such terminal.
#[cfg(not(unix))]
pub(super) fn hide(_: &File) {}

/// Changes nothing: there is no such terminal.
#[cfg(not(unix))]
pub(super) fn restore() {}

/// True while control characters are hidden.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// A guard that hides control characters that a person types, such as `^C`. Their echo would move the cursor within lines that are redrawn.
#[derive(Debug)]
pub(crate) struct HiddenControls(());

impl HiddenControls {
    /// Hides control characters on the terminal of standard error. Returns `None` if there is no terminal, or if it hides them already.
    pub(crate) fn new() -> Option<Self> {
        let is_hidden = show_controls(false);
        if is_hidden {
            IS_HIDDEN.store(true, Ordering::Relaxed);
        }
        is_hidden.then_some(Self(()))
    }
}

/// Shows control characters again, if they are hidden, before the process ends.
pub(crate) fn restore_controls() {
    if IS_HIDDEN.swap(false, Ordering::Relaxed) {
        show_controls(true);
    }
}

impl Drop for HiddenControls {
    fn drop(&mut self) {
        restore_controls();
    }
}

/// Sets whether the terminal echoes control characters. Returns true if that is a change.
#[cfg(unix)]
fn show_controls(is_shown: bool) -> bool {
    use nix::sys::signal::{SigSet, SigmaskHow, Signal};

    let terminal = std::io::stderr();
    let Ok(mut settings) = tcgetattr(&terminal) else {
        return false;
    };
    if settings.local_flags.contains(LocalFlags::ECHOCTL) == is_shown {
        return false;
    }
    settings.local_flags.set(LocalFlags::ECHOCTL, is_shown);
    // The system stops a process in the background that changes its terminal, unless it blocks this signal.
    let mut stop = SigSet::empty();
    stop.add(Signal::SIGTTOU);
    let Ok(before) = stop.thread_swap_mask(SigmaskHow::SIG_BLOCK) else {
        return false;
    };
    let is_set = tcsetattr(&terminal, SetArg::TCSANOW, &settings).is_ok();
    is_set & before.thread_set_mask().is_ok()
}

#[cfg(not(unix))]
fn show_controls(_: bool) -> bool {
    false
}
