//! Input of the person: the words of the command line, then line after line.

use std::io::{BufRead, IsTerminal, Write};

use super::super::printer::Printer;
use super::super::signals::Signals;

/// The source of the input.
pub(super) struct Input {
    first: Option<String>,
}

/// An input.
pub(super) enum InputEvent {
    Words(String),
    /// Nothing more will come.
    End,
    Interrupted,
}

impl Input {
    pub(super) fn new(first: Option<String>) -> Self {
        Self { first }
    }

    /// The next words that are not blank.
    pub(super) async fn next(&mut self, signals: &mut Signals) -> InputEvent {
        if let Some(first) = self.first.take().filter(|words| !words.trim().is_empty()) {
            return InputEvent::Words(first);
        }
        loop {
            let line = tokio::task::spawn_blocking(line);
            let line = tokio::select! {
                line = line => line.ok().flatten(),
                () = signals.next() => return InputEvent::Interrupted,
            };
            match line {
                None => return InputEvent::End,
                Some(line) if line.trim().is_empty() => {}
                Some(line) => return InputEvent::Words(line.trim().to_owned()),
            }
        }
    }
}

/// The next line of standard input; nothing at its end.
fn line() -> Option<String> {
    let input = std::io::stdin();
    if input.is_terminal() && Printer::is_watched() {
        let mut talk = std::io::stderr();
        // A prompt that cannot be shown is no reason not to listen.
        let _ = write!(talk, "> ").and_then(|()| talk.flush());
    }
    let mut line = String::new();
    match input.lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}
