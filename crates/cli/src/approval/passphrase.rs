//! `planwright passphrase`, and the question for the passphrase before a decision from the command line.
//!
//! A program that runs as the same user could start `planwright` in a pseudo-terminal and approve its own calls, but it does not know the passphrase.

use std::sync::{Arc, OnceLock};

use planwright::stored::{ConfirmedPassphrase, Decider, Passphrase, PassphraseError};
use planwright_store::Store;

use crate::args::{PassphraseArguments, StoreArguments};
use crate::error::{CommandError, Exit, reason};
use crate::runs::store;
use crate::setup::settings;
use crate::system::environment;
use crate::system::terminal_input::{NoAnswer, TerminalInput, ask_at_terminal, at_terminal};
use crate::view::printer::Printer;

/// The hint if `planwright passphrase` cannot ask.
const PASSPHRASE_HINT: &str = "run it at a terminal";

/// The hint if a decision cannot be confirmed.
const DECISION_HINT: &str = "decide at a terminal, or in the form of an MCP client";

/// Maximum number of times that a person may enter the passphrase for one decision.
const MAX_ATTEMPTS: u32 = 3;

/// The question for the passphrase that decisions from the command line require, asked at most once by a process.
#[derive(Clone, Debug)]
pub(crate) struct PassphraseCheck {
    passphrase: Passphrase,
    confirmed: Arc<OnceLock<ConfirmedPassphrase>>,
}

impl PassphraseCheck {
    /// The check for decisions about runs of `store`; `None` for runs that are not stored.
    ///
    /// The passphrase of `store` is always required. With `[approvals] passphrase`, the passphrase of the user's default store is required
    /// as well, so that naming another store does not avoid it.
    pub(crate) fn open(store: Option<&Store>) -> Result<Self, CommandError> {
        let is_required = settings::own()?.requires_passphrase();
        let user_store = if is_required {
            store::open_existing(&StoreArguments::default())?
        } else {
            None
        };
        let stores = store.into_iter().chain(&user_store);
        let passphrase = Passphrase::of(stores).map_err(store::explain)?;
        if is_required && !passphrase.is_set() {
            return Err(
                CommandError::new("decisions require a passphrase, and none is set")
                    .hint("set one: `planwright passphrase`"),
            );
        }
        Ok(Self {
            passphrase,
            confirmed: Arc::default(),
        })
    }

    /// Asks for the passphrase, if one is set and was not entered before in this process. Blocks; a signal ends the question.
    pub(crate) fn confirm(&self) -> Result<(), CommandError> {
        if !self.is_pending() {
            return Ok(());
        }
        let check = self.clone();
        ask_at_terminal(move |input| check.confirm_at(input))
            .map_err(|no_answer| unanswered(no_answer, DECISION_HINT))?
    }

    /// Asks for the passphrase like [`confirm`](Self::confirm), without blocking. Dropping the future withdraws the question.
    pub(super) async fn confirm_async(&self) -> Result<(), CommandError> {
        if !self.is_pending() {
            return Ok(());
        }
        let check = self.clone();
        at_terminal(move |input| check.confirm_at(input))
            .await
            .map_err(|error| unanswered(error.into(), DECISION_HINT))?
    }

    /// Asks for the passphrase like [`confirm`](Self::confirm), on a terminal that is open already. A wrong one may be corrected.
    pub(super) fn confirm_at(&self, input: &mut TerminalInput) -> Result<(), CommandError> {
        if !self.is_pending() {
            return Ok(());
        }
        let mut attempt = 1;
        let mut failure = no_passphrase(DECISION_HINT);
        while let Some(entered) = input.ask_secret("passphrase for decisions: ") {
            match self.passphrase.confirm(&entered) {
                Ok(confirmed) => {
                    // Another thread may have asked, too. Either proof is valid.
                    let _ = self.confirmed.set(confirmed);
                    return Ok(());
                }
                Err(PassphraseError::Wrong) if attempt < MAX_ATTEMPTS => {
                    failure = PassphraseError::Wrong.into();
                    attempt += 1;
                    if input
                        .print_line("the passphrase is wrong; try again")
                        .is_err()
                    {
                        break;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(failure)
    }

    /// Returns true if the passphrase is still to be entered.
    fn is_pending(&self) -> bool {
        self.passphrase.is_set() && self.confirmed.get().is_none()
    }

    /// Returns the user as the decider about a call of a stored run, after [`confirm`](Self::confirm).
    pub(crate) fn decider(&self) -> Result<Decider, CommandError> {
        self.confirm()?;
        let user = Decider::new(environment::variable("USER"));
        Ok(match self.confirmed.get() {
            Some(confirmed) => user.confirmed(confirmed.clone()),
            None => user,
        })
    }
}

impl From<PassphraseError> for CommandError {
    fn from(error: PassphraseError) -> Self {
        match error {
            PassphraseError::Store(error) => store::explain(error),
            PassphraseError::Required
            | PassphraseError::Wrong
            | PassphraseError::TooShort
            | PassphraseError::Damaged(_)
            | PassphraseError::Unhashable(_) => Self::new(error.to_string()),
        }
    }
}

/// `planwright passphrase`
pub(crate) fn passphrase(
    arguments: &PassphraseArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let current = Passphrase::of([&store]).map_err(store::explain)?;
    if current.is_set() {
        current.confirm(&prompt("current passphrase: ")?)?;
    } else if arguments.remove {
        return Err(CommandError::new("no passphrase is set"));
    }
    if arguments.remove {
        Passphrase::set(&store, None)?;
        printer.status("decisions no longer require a passphrase");
        return Ok(Exit::Success);
    }
    let new = prompt("new passphrase: ")?;
    Passphrase::check_new(&new)?;
    if prompt("repeat the new passphrase: ")? != new {
        return Err(CommandError::new(
            "the passphrases differ; nothing was changed",
        ));
    }
    Passphrase::set(&store, Some(&new))?;
    printer.status("decisions from the command line now require the passphrase");
    Ok(Exit::Success)
}

/// Reads a line from the terminal without showing it. Blocks; a signal ends the question.
fn prompt(text: &'static str) -> Result<String, CommandError> {
    ask_at_terminal(move |input| input.ask_secret(text))
        .map_err(|no_answer| unanswered(no_answer, PASSPHRASE_HINT))?
        .ok_or_else(|| no_passphrase(PASSPHRASE_HINT))
}

fn unanswered(no_answer: NoAnswer, hint: &str) -> CommandError {
    match no_answer {
        NoAnswer::Terminal(error) => CommandError::new(format!(
            "the passphrase cannot be read from a terminal: {}",
            reason(&error)
        ))
        .hint(hint),
        NoAnswer::Interrupted => no_answer.into(),
    }
}

fn no_passphrase(hint: &str) -> CommandError {
    CommandError::new("no passphrase was entered").hint(hint)
}
