//! The one mouth: stdout is data, stderr is talk.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use planwright::{drawing, terminal_text};
use serde::Serialize;

use super::args::Colour;
use super::error::reason;
use super::json;

/// True if output was lost that a reader may wait for.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints for a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    choice: ColorChoice,
}

impl Printer {
    pub(crate) fn new(colour: Colour) -> Self {
        Self {
            choice: match colour {
                Colour::Auto => ColorChoice::Auto,
                Colour::Always => ColorChoice::Always,
                Colour::Never => ColorChoice::Never,
            },
        }
    }

    /// Prints what the command is for, for a person. One who closes a pager or pipes into `head` has read enough.
    pub(crate) fn data(self, text: &str) {
        let written = self.write(text);
        let is_closed = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
        if !written.as_ref().is_err_and(is_closed) {
            self.note_lost(written);
        }
    }

    /// Prints a line for a program, which has not got what the command is for if it does not read all of it.
    pub(crate) fn document(self, text: &str) {
        self.note_lost(self.write(&format!("{text}\n")));
    }

    fn write(self, text: &str) -> std::io::Result<()> {
        let text = if Self::shows_data() {
            terminal_text::data(text)
        } else {
            text.into()
        };
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.choice);
        write!(stream, "{text}").and_then(|()| stream.flush())
    }

    /// Prints a value as one line of JSON. Where no person looks, it is written as it is made.
    pub(crate) fn json_line(self, value: &impl Serialize) {
        if Self::shows_data() {
            let mut line = Vec::new();
            // Writing to memory does not fail.
            let _ = json::write_line(value, &mut line);
            self.note_lost(self.write(&String::from_utf8_lossy(&line)));
            return;
        }
        self.note_lost(json::write_line(value, std::io::stdout().lock()));
    }

    /// Says once that something could not be printed.
    fn note_lost(self, written: std::io::Result<()>) {
        if let Err(error) = written
            && !LOST.swap(true, Ordering::Relaxed)
        {
            let reason = reason(&error);
            self.talk(&format!("error: cannot write the output: {reason}"));
        }
    }

    /// Returns whether something that the command is for could not be printed, a full disk for example.
    pub(crate) fn has_lost_data() -> bool {
        LOST.load(Ordering::Relaxed)
    }

    /// Prints a line of what the command is for.
    pub(crate) fn data_line(self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Prints a status line. Without a reader nothing is lost.
    pub(crate) fn talk(self, text: &str) {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice);
        let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
    }

    /// Prints a line that holds text from elsewhere, which must not steer the terminal: what is asked there must be what
    /// it looks like.
    pub(crate) fn quote(self, text: &str) {
        self.talk(&terminal_text::lines(text));
    }

    /// Returns whether a person watches what goes on.
    pub(crate) fn is_watched() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Returns whether a person looks at the data itself.
    pub(crate) fn shows_data() -> bool {
        std::io::stdout().is_terminal()
    }

    /// Returns whether data and talk go to terminals, where a line between them helps.
    pub(crate) fn shows_both() -> bool {
        std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Returns whether what goes on may be coloured.
    pub(crate) fn colours_talk(self) -> bool {
        match self.choice {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&std::io::stderr()) != ColorChoice::Never,
        }
    }

    /// Returns the style of a picture on standard output.
    pub(crate) fn style(self) -> drawing::Style {
        drawing::Style {
            symbols: drawing::Symbols::Unicode,
            width: std::io::stdout().is_terminal().then(Self::data_width),
            colour: self.colours_data(),
        }
    }

    /// Returns the style of a picture on standard error.
    pub(crate) fn talk_style(self) -> drawing::Style {
        drawing::Style {
            symbols: drawing::Symbols::Unicode,
            width: Self::is_watched().then(Self::talk_width),
            colour: self.colours_talk(),
        }
    }

    /// Returns the width of the terminal that shows status lines.
    pub(crate) fn talk_width() -> usize {
        width(terminal_size::terminal_size_of(std::io::stderr()))
    }

    /// The columns of the terminal on which what the command is for is printed.
    pub(crate) fn data_width() -> usize {
        width(terminal_size::terminal_size_of(std::io::stdout()))
    }

    /// Returns whether what the command is for may be coloured.
    pub(crate) fn colours_data(self) -> bool {
        match self.choice {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
        }
    }
}

/// The columns of a terminal; where there is none, as many as people read with ease.
fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    const USUAL: usize = 100;
    match size {
        Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
        _ => USUAL,
    }
}
