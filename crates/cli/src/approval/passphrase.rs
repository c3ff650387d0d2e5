//! `planwright passphrase`, and the question for it before a decision from the command line counts.
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
use crate::view::printer::Printer;

/// The hint if `planwright passphrase` cannot ask.
const AT_TERMINAL: &str = "run it at a terminal";

/// The question for the passphrase that decisions from the command line require, asked at most once by a process.
#[derive(Clone, Debug)]
pub(crate) struct PassphraseCheck {
    passphrase: Passphrase,
    confirmed: Arc<OnceLock<ConfirmedPassphrase>>,
}

impl PassphraseCheck {
    /// The check for decisions about runs of `store`; `None` for runs that are not stored.
    ///
    /// The passphrase of the store is always required. With `[approvals] passphrase`, that of the user's own store is required as well, so
    /// a decision cannot avoid it by naming another store.
    pub(crate) fn open(store: Option<&Store>) -> Result<Self, CommandError> {
        let is_demanded = settings::own()?.requires_passphrase();
        let own = if is_demanded {
            store::open_if_there(&StoreArguments::default())?
        } else {
            None
        };
        let stores = store.into_iter().chain(&own);
        let passphrase = Passphrase::of(stores).map_err(store::explain)?;
        if is_demanded && !passphrase.is_set() {
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

    /// Asks for the passphrase, if one is set and was not entered before in this process. Blocks.
    pub(crate) fn confirm(&self) -> Result<(), CommandError> {
        if !self.passphrase.is_set() || self.confirmed.get().is_some() {
            return Ok(());
        }
        let entered = prompt(
            "passphrase for decisions: ",
            "decide at a terminal, or in the form of an MCP client",
        )?;
        let confirmed = self.passphrase.confirm(&entered)?;
        // Another thread may have asked as well; either proof holds.
        let _ = self.confirmed.set(confirmed);
        Ok(())
    }

    /// The user as the one who decides about a call of a stored run, after [`confirm`](Self::confirm).
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
        current.confirm(&prompt("current passphrase: ", AT_TERMINAL)?)?;
    } else if arguments.remove {
        return Err(CommandError::new("no passphrase is set"));
    }
    if arguments.remove {
        Passphrase::set(&store, None)?;
        printer.status("decisions no longer require a passphrase");
        return Ok(Exit::Success);
    }
    let new = prompt("new passphrase: ", AT_TERMINAL)?;
    Passphrase::check_new(&new)?;
    if prompt("repeat the new passphrase: ", AT_TERMINAL)? != new {
        return Err(CommandError::new(
            "the passphrases differ; nothing was changed",
        ));
    }
    Passphrase::set(&store, Some(&new))?;
    printer.status("decisions from the command line now require the passphrase");
    Ok(Exit::Success)
}

/// Reads a line from the terminal without showing it.
fn prompt(text: &str, hint: &str) -> Result<String, CommandError> {
    // `rpassword` turns the echo off only after the prompt, so early input would be visible.
    #[cfg(unix)]
    let _no_echo = echo::EchoOff::new();
    rpassword::prompt_password(text).map_err(|error| {
        CommandError::new(format!(
            "the passphrase cannot be read from a terminal: {}",
            reason(&error)
        ))
        .hint(hint)
    })
}

#[cfg(unix)]
mod echo {
    use std::fs::File;

    use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

    /// Turns the echo of the terminal off until it is dropped.
    pub(super) struct EchoOff {
        terminal: File,
        before: Termios,
    }

    impl EchoOff {
        /// Turns the echo off; `None` without a terminal.
        pub(super) fn new() -> Option<Self> {
            let terminal = File::open("/dev/tty").ok()?;
            let before = tcgetattr(&terminal).ok()?;
            let mut silent = before.clone();
            silent.local_flags.remove(LocalFlags::ECHO);
            tcsetattr(&terminal, SetArg::TCSANOW, &silent).ok()?;
            Some(Self { terminal, before })
        }
    }

    impl Drop for EchoOff {
        fn drop(&mut self) {
            // A terminal that is gone needs no echo.
            let _ = tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
        }
    }
}
