//! The lines that a person types at the terminal. Dropping the future of a question withdraws it: it reads no further line.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::runtime::Handle;

use super::echo;
use super::editor::OpenEditor;
use super::signals::Signals;
use crate::error::{CommandError, reason};
use crate::view::printer::terminal;

/// The lock of the lines: one question at a time reads them. A withdrawn question releases it at once.
static READING: Mutex<()> = Mutex::new(());

/// The terminal, for one or more questions.
pub(crate) struct TerminalInput {
    terminal: File,
    /// Closed at the other end once the questions are withdrawn.
    #[cfg(unix)]
    withdrawn: io::PipeReader,
    question: Arc<Mutex<Question>>,
}

/// The question that waits for its answer.
#[derive(Debug, Default)]
struct Question {
    state: QuestionState,
    /// The editor in which the person writes the answer.
    editor: Option<OpenEditor>,
}

/// The state of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum QuestionState {
    /// No question waits for its answer.
    #[default]
    Idle,
    /// The cursor is at the end of a question.
    Asked,
    /// The questions are withdrawn.
    Withdrawn,
}

/// Withdraws the questions of a [`TerminalInput`] when it is dropped.
struct Withdrawal {
    terminal: File,
    #[cfg(unix)]
    wake: Option<io::PipeWriter>,
    question: Arc<Mutex<Question>>,
}

/// Asks questions on a separate thread. Dropping the future withdraws them.
///
/// # Errors
///
/// There is no terminal, or the thread has failed.
pub(crate) async fn at_terminal<T: Send + 'static>(
    questions: impl FnOnce(&mut TerminalInput) -> T + Send + 'static,
) -> io::Result<T> {
    let (mut input, withdrawal) = TerminalInput::open()?;
    let answered = tokio::task::spawn_blocking(move || questions(&mut input)).await;
    drop(withdrawal);
    answered.map_err(io::Error::other)
}

/// The reason why questions have no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// There is no terminal, or it cannot be used.
    Terminal(io::Error),
    /// A signal has withdrawn the questions.
    Interrupted,
}

/// Asks questions from code that blocks. A signal withdraws them.
///
/// # Errors
///
/// Those of [`at_terminal`], or a signal was received.
pub(crate) fn ask_at_terminal<T: Send + 'static>(
    questions: impl FnOnce(&mut TerminalInput) -> T + Send + 'static,
) -> Result<T, NoAnswer> {
    tokio::task::block_in_place(|| {
        Handle::current().block_on(async {
            let mut signals = Signals::new().map_err(io::Error::other)?;
            tokio::select! {
                answered = at_terminal(questions) => Ok(answered?),
                _ = signals.next() => Err(NoAnswer::Interrupted),
            }
        })
    })
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> Self {
        Self::Terminal(error)
    }
}

impl From<NoAnswer> for CommandError {
    fn from(no_answer: NoAnswer) -> Self {
        match no_answer {
            NoAnswer::Terminal(error) => Self::new(format!("no answer: {}", reason(&error))),
            NoAnswer::Interrupted => Self::interrupted("a signal ended the question"),
        }
    }
}

impl TerminalInput {
    fn open() -> io::Result<(Self, Withdrawal)> {
        let terminal = terminal()?;
        let question = Arc::<Mutex<Question>>::default();
        #[cfg(unix)]
        let (withdrawn, wake) = io::pipe()?;
        let withdrawal = Withdrawal {
            terminal: terminal.try_clone()?,
            #[cfg(unix)]
            wake: Some(wake),
            question: Arc::clone(&question),
        };
        let input = Self {
            terminal,
            #[cfg(unix)]
            withdrawn,
            question,
        };
        Ok((input, withdrawal))
    }

    /// Asks a question, and returns the line that the person types, without its end; `None` at the end of the input, and if the question
    /// is withdrawn. Blocks.
    pub(crate) fn ask(&mut self, question: &str) -> Option<String> {
        let _reading = lock(&READING);
        self.read(question, false)
    }

    /// Asks a question like [`ask`](Self::ask), without showing what the person types.
    pub(crate) fn ask_secret(&mut self, question: &str) -> Option<String> {
        let _reading = lock(&READING);
        let line = self.read(question, true);
        echo::restore();
        line
    }

    /// Asks until the answer is yes or no. The end of the input is a no.
    pub(crate) fn agrees(&mut self, question: &str) -> bool {
        loop {
            match self.ask(question).as_deref().map(str::trim) {
                Some("y" | "yes" | "Y") => return true,
                Some("n" | "no" | "N") | None => return false,
                Some(_) => {}
            }
        }
    }

    /// Lets the person change a text, which `kind` names, in their editor; `None` if the question is withdrawn, which ends the editor.
    /// Blocks.
    ///
    /// # Errors
    ///
    /// One clause, if the editor cannot be run or fails.
    pub(crate) fn edit(&mut self, text: &str, kind: &str) -> Option<Result<String, String>> {
        let _reading = lock(&READING);
        {
            let mut question = lock(&self.question);
            if question.state == QuestionState::Withdrawn {
                return None;
            }
            match OpenEditor::open(text, kind, &self.terminal) {
                Ok(editor) => question.editor = Some(editor),
                Err(error) => return Some(Err(error)),
            }
        }
        // The lock is free while the editor is open, so that the question can be withdrawn.
        let ended = Handle::current().block_on(poll_fn(|context| {
            let mut question = lock(&self.question);
            match &mut question.editor {
                Some(editor) => editor.poll_end(context).map(Some),
                None => Poll::Ready(None),
            }
        }))?;
        let mut question = lock(&self.question);
        let editor = question.editor.take()?;
        (question.state != QuestionState::Withdrawn).then(|| editor.text(ended))
    }

    /// Prints a line.
    ///
    /// # Errors
    ///
    /// The terminal cannot be written to.
    pub(crate) fn print_line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.terminal, "{line}")
    }

    fn read(&mut self, question: &str, is_secret: bool) -> Option<String> {
        {
            let mut asked = lock(&self.question);
            if asked.state == QuestionState::Withdrawn {
                return None;
            }
            if is_secret {
                // Early input must not be visible, so the echo ends before the question is shown.
                echo::hide(&self.terminal);
            }
            self.discard_input();
            // An answer without a visible question must not count as a decision.
            self.terminal.write_all(question.as_bytes()).ok()?;
            self.terminal.flush().ok()?;
            asked.state = QuestionState::Asked;
        }
        let line = self.line();
        let mut asked = lock(&self.question);
        if asked.state == QuestionState::Withdrawn {
            return None;
        }
        asked.state = QuestionState::Idle;
        if line.is_none() || is_secret {
            // The end of the input leaves the cursor after the question, and so does a line without an echo.
            let _ = writeln!(self.terminal);
        }
        line
    }

    /// Discards the lines that were typed before the question is shown: they are no answer to it.
    #[cfg(unix)]
    fn discard_input(&self) {
        use nix::sys::termios::{FlushArg, tcflush};
        use nix::unistd::{getpgrp, tcgetpgrp};

        // In the background, the input is that of another process, and the system would stop this one.
        if tcgetpgrp(&self.terminal) == Ok(getpgrp()) {
            // A closed terminal gives no answers.
            let _ = tcflush(&self.terminal, FlushArg::TCIFLUSH);
        }
    }

    /// Discards nothing: there is no such terminal.
    #[cfg(not(unix))]
    fn discard_input(&self) {}

    /// Reads a line. Any further input was typed before the next question was asked, so it is dropped.
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut bytes = [0; 4096];
        loop {
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                line.truncate(end);
                return String::from_utf8(line).ok();
            }
            if !self.has_input() {
                return None;
            }
            match self.terminal.read(&mut bytes) {
                Ok(0) if line.is_empty() => return None,
                Ok(0) => return String::from_utf8(line).ok(),
                Ok(count) => line.extend_from_slice(bytes.get(..count)?),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits for input. Returns false if the question was withdrawn before.
    #[cfg(unix)]
    fn has_input(&self) -> bool {
        use std::os::fd::AsFd;

        use nix::errno::Errno;
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

        let mut sources = [
            PollFd::new(self.withdrawn.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN),
        ];
        loop {
            match poll(&mut sources, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                // Some systems cannot poll a terminal, so the read has to wait.
                Err(_) => return true,
                Ok(_) => return sources.first().and_then(PollFd::any) != Some(true),
            }
        }
    }

    /// Returns true: the read waits for input.
    #[cfg(not(unix))]
    fn has_input(&self) -> bool {
        true
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let mut question = lock(&self.question);
        if question.state == QuestionState::Asked {
            echo::restore();
            let _ = writeln!(self.terminal);
        }
        question.state = QuestionState::Withdrawn;
        if let Some(editor) = &mut question.editor {
            editor.end();
        }
        #[cfg(unix)]
        drop(self.wake.take());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
