//! The one mouth: stdout is data, stderr is talk.

use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

use super::args::Colour;

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

    /// Prints what the command is for. Somebody who stops reading has read enough.
    pub(crate) fn data(&self, text: &str) {
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.choice);
        let _ = write!(stream, "{text}").and_then(|()| stream.flush());
    }

    /// Prints a line of what the command is for.
    pub(crate) fn data_line(&self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Prints a line about what is going on. Where nobody listens, nothing is lost.
    pub(crate) fn talk(&self, text: &str) {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice);
        let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
    }

    /// Whether a person watches what goes on.
    pub(crate) fn is_watched(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Whether what goes on may be coloured.
    pub(crate) fn colours_talk(&self) -> bool {
        match self.choice {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&std::io::stderr()) != ColorChoice::Never,
        }
    }

    /// Whether what the command is for may be coloured.
    pub(crate) fn colours_data(&self) -> bool {
        match self.choice {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
        }
    }
}
