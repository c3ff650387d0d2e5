//! The printer: all output of the program, the form of its JSON, and the wording of times, reasons and failures.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use planwright::core::Value;
use planwright::engine::ToolError;
use planwright::{drawing, terminal_text};
use serde::Serialize;

use super::pager;
use super::paragraph::fitted;
use crate::args::Colour;
use crate::error::{CommandError, reason};

pub(crate) use planwright::terminal_text::time;

/// True if output that a reader may wait for was lost.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints for a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    choice: ColorChoice,
    /// True if long output goes through a pager.
    has_pager: bool,
}

impl Printer {
    pub(crate) fn new(colour: Colour) -> Self {
        Self {
            choice: match colour {
                Colour::Auto => ColorChoice::Auto,
                Colour::Always => ColorChoice::Always,
                Colour::Never => ColorChoice::Never,
            },
            has_pager: false,
        }
    }

    /// The same printer, which shows long output in the pager of the user, if it goes to a terminal.
    pub(crate) fn with_pager(self, has_pager: bool) -> Self {
        Self { has_pager, ..self }
    }

    /// Prints the result of the command for a person, in a pager if it is longer than the terminal.
    pub(crate) fn pages(self, text: &str) {
        let rows = terminal_size::terminal_size_of(std::io::stdout());
        let is_long = rows.is_some_and(|(_, terminal_size::Height(rows))| {
            usize::from(rows) <= text.lines().count()
        });
        let is_paged = self.has_pager && Self::shows_data() && is_long;
        let text = if is_paged {
            terminal_text::data(text)
        } else {
            text.into()
        };
        if is_paged && pager::show(&text, self.colours_data()) {
            return;
        }
        self.data(&text);
    }

    /// Prints the result of the command for a person. A closed pipe, as of a pager or `head`, is not an error.
    pub(crate) fn data(self, text: &str) {
        let written = self.write(text);
        let is_closed = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
        if !written.as_ref().is_err_and(is_closed) {
            self.note_lost(written);
        }
    }

    /// Prints a text of unknown origin, such as the source of a plan, like [`data`](Self::data), but without control sequences on a
    /// terminal.
    pub(crate) fn untrusted_data(self, text: &str) {
        if Self::shows_data() {
            self.data(&terminal_text::lines(text));
        } else {
            self.data(text);
        }
    }

    /// Prints a line for a program. A closed pipe is an error, because the program did not read the whole result.
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

    /// Prints a value as one line of JSON. Without a terminal, it is streamed.
    pub(crate) fn json_line(self, value: &impl Serialize) {
        if Self::shows_data() {
            let mut line = Vec::new();
            // Writing to memory does not fail.
            let _ = write_line(value, &mut line);
            self.note_lost(self.write(&String::from_utf8_lossy(&line)));
            return;
        }
        self.note_lost(write_line(value, std::io::stdout().lock()));
    }

    /// Reports once that output failed.
    fn note_lost(self, written: std::io::Result<()>) {
        if let Err(error) = written
            && !LOST.swap(true, Ordering::Relaxed)
        {
            let reason = reason(&error);
            self.status(&format!("error: cannot write the output: {reason}"));
        }
    }

    /// Returns true if a result of the command could not be printed, for example because the disk is full.
    pub(crate) fn has_lost_data() -> bool {
        LOST.load(Ordering::Relaxed)
    }

    /// Prints a line of the result of the command.
    pub(crate) fn data_line(self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Prints a status line. Errors are ignored.
    pub(crate) fn status(self, text: &str) {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice);
        let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
    }

    /// Clears the terminal of the status lines, including its scrollback.
    pub(crate) fn clear() {
        let mut stream = std::io::stderr().lock();
        let _ = write!(stream, "\x1b[H\x1b[2J\x1b[3J").and_then(|()| stream.flush());
    }

    /// Prints a line with untrusted text, which must not control the terminal: a question must be
    /// what it appears to be.
    pub(crate) fn quote(self, text: &str) {
        self.status(&terminal_text::lines(text));
    }

    /// Prints a message like [`quote`](Self::quote). On a terminal, its lines are broken between words, and commands in it stay whole.
    pub(crate) fn message(self, text: &str) {
        let text = terminal_text::lines(text);
        if Self::is_watched() {
            self.status(&fitted(&text, Self::status_width()));
        } else {
            self.status(&text);
        }
    }

    /// Prints a hint.
    pub(crate) fn hint(self, hint: impl std::fmt::Display) {
        self.message(&format!("  hint: {hint}"));
    }

    /// Prints the error of a command with its hints.
    pub(crate) fn error(self, error: &CommandError) {
        self.message(&format!("error: {error}"));
        for hint in error.hints() {
            self.hint(hint);
        }
    }

    /// Returns true if a person watches the status lines.
    pub(crate) fn is_watched() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Returns true if a person reads the data, on a terminal.
    pub(crate) fn shows_data() -> bool {
        std::io::stdout().is_terminal()
    }

    /// Returns true if data and status lines both go to terminals, so that a blank line should separate them.
    pub(crate) fn shows_both() -> bool {
        std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Returns true if status lines may be coloured.
    pub(crate) fn colours_status(self) -> bool {
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
    pub(crate) fn status_style(self) -> drawing::Style {
        drawing::Style {
            symbols: drawing::Symbols::Unicode,
            width: Self::is_watched().then(Self::status_width),
            colour: self.colours_status(),
        }
    }

    /// Returns the width of the terminal that shows status lines.
    pub(crate) fn status_width() -> usize {
        width(terminal_size::terminal_size_of(std::io::stderr()))
    }

    /// Returns the rows of the terminal that shows status lines.
    pub(crate) fn status_height() -> usize {
        match terminal_size::terminal_size_of(std::io::stderr()) {
            Some((_, terminal_size::Height(rows))) if rows > 0 => usize::from(rows),
            _ => DEFAULT_HEIGHT,
        }
    }

    /// Returns the columns of the terminal of standard output.
    pub(crate) fn data_width() -> usize {
        width(terminal_size::terminal_size_of(std::io::stdout()))
    }

    /// Returns true if standard output may be coloured.
    fn colours_data(self) -> bool {
        match self.choice {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
        }
    }
}

/// The rows of a terminal of unknown size.
const DEFAULT_HEIGHT: usize = 24;

/// Returns the columns of a terminal; without one, a comfortable width.
fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    const DEFAULT_WIDTH: usize = 100;
    match size {
        Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
        _ => DEFAULT_WIDTH,
    }
}

/// The largest size of indented JSON in bytes. In deeply nested JSON most bytes would be spaces.
const INDENTED_BYTES: usize = 1024 * 1024;

/// Writes `value` in one line.
pub(crate) fn write_line(value: &impl Serialize, to: impl Write) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    serde_json::to_writer(&mut to, value)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// Formats `value` with indentation; `None` if the result is too large.
pub(crate) fn indented(value: &impl Serialize) -> Result<Option<String>, serde_json::Error> {
    let mut text = Limited(Vec::new());
    match serde_json::to_writer_pretty(&mut text, value) {
        Ok(()) => Ok(Some(String::from_utf8_lossy(&text.0).into_owned())),
        Err(error) if error.is_io() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A writer that fails after a number of bytes.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > INDENTED_BYTES - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminal itself, even if standard input is the plan.
pub(crate) fn terminal() -> std::io::Result<std::fs::File> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
pub(crate) const BUSY: Style = AnsiColor::Blue.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Returns `text` in `style`. The printer removes the colours if they are not wanted.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// `1 step`, `2 steps`.
pub(crate) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// The code of a failure, if its source states one.
pub(crate) fn code(error: &ToolError) -> Option<String> {
    match error.data.get("code")? {
        Value::Null => None,
        code => Some(terminal_text::one_line(&code.to_inserted_text()).into_owned()),
    }
}

/// The first line of a failure's message.
pub(crate) fn first_line(error: &ToolError) -> String {
    let line = error.message.trim().lines().next().unwrap_or_default();
    terminal_text::one_line(line).into_owned()
}

#[cfg(test)]
mod tests {
    use planwright::core::Value;

    use super::*;

    #[test]
    fn what_is_long_is_not_indented() {
        let text = |bytes: usize| indented(&Value::text("a".repeat(bytes))).unwrap();
        assert_eq!(text(INDENTED_BYTES - 2).unwrap().len(), INDENTED_BYTES);
        assert_eq!(text(INDENTED_BYTES - 1), None);
        // It is short as such.
        let nested = |levels: usize| {
            let first = Value::list(vec![Value::from(1); 1000]);
            (0..levels).fold(first, |inner, _| Value::list([inner]))
        };
        assert!(indented(&nested(10)).unwrap().is_some());
        assert_eq!(indented(&nested(600)).unwrap(), None);
    }

    #[test]
    fn a_line_is_one() {
        let mut written = Vec::new();
        write_line(&Value::list([Value::from("a\nb")]), &mut written).unwrap();
        assert_eq!(written, b"[\"a\\nb\"]\n");
    }
}
