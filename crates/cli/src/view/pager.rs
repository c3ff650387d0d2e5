//! The pager: `PAGER`, or `less`, shows text that is longer than the terminal.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::system::environment;

/// True while a pager uses the terminal.
static SHOWS: AtomicBool = AtomicBool::new(false);

/// Returns true while a pager uses the terminal, and Ctrl-C is input for the pager.
pub(crate) fn is_shown() -> bool {
    SHOWS.load(Ordering::Relaxed)
}

/// Shows `text` in the pager until the person leaves it. Returns false if there is none.
pub(super) fn show(text: &str, is_coloured: bool) -> bool {
    let Some(mut pager) = start() else {
        return false;
    };
    SHOWS.store(true, Ordering::Relaxed);
    if let Some(mut input) = pager.stdin.take() {
        let plain;
        let text = if is_coloured {
            text
        } else {
            plain = anstream::adapter::strip_str(text).to_string();
            &plain
        };
        // The person may leave before the end.
        let _ = input.write_all(text.as_bytes());
    }
    let ended = pager.wait();
    SHOWS.store(false, Ordering::Relaxed);
    // A shell that does not find the pager ends with 127; then nothing was shown.
    ended.is_ok_and(|status| status.code() != Some(127))
}

fn start() -> Option<Child> {
    let command = ["PLANWRIGHT_PAGER", "PAGER"]
        .iter()
        .find_map(|name| environment::variable(name));
    let command = command.unwrap_or_else(|| "less".to_owned());
    if matches!(command.trim(), "" | "cat") {
        return None;
    }
    let mut shell = if cfg!(windows) {
        let mut shell = Command::new("cmd");
        shell.arg("/C");
        shell
    } else {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c");
        shell
    };
    shell.arg(&command).stdin(Stdio::piped());
    // Colours, and no pager for text that fits on the screen, as git does it.
    if environment::variable("LESS").is_none() {
        shell.env("LESS", "FRX");
    }
    shell.spawn().ok()
}
