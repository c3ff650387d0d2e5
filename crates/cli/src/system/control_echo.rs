//! The echo of control characters on the terminal.

use std::sync::atomic::{AtomicBool, Ordering};

/// True while they are hidden.
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
pub(crate) fn restore() {
    if IS_HIDDEN.swap(false, Ordering::Relaxed) {
        show_controls(true);
    }
}

impl Drop for HiddenControls {
    fn drop(&mut self) {
        restore();
    }
}

/// Sets whether the terminal echoes control characters. Returns true if that is a change.
#[cfg(unix)]
fn show_controls(is_shown: bool) -> bool {
    use nix::sys::signal::{SigSet, SigmaskHow, Signal};
    use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

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
