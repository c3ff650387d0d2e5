//! `planwright passphrase`, and the question for it before a decision from the command line counts.
//!
//! A program that runs as the same user could start `planwright` in a pseudo-terminal and approve its own calls, but it does not know the passphrase.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use planwright_store::Store;

use crate::args::{PassphraseArguments, StoreArguments};
use crate::error::{CommandError, Exit, reason};
use crate::runs::store;
use crate::setup::settings;
use crate::view::printer::Printer;

/// The minimum length of a passphrase, in characters.
const MIN_CHARS: usize = 8;

/// The hint if `planwright passphrase` cannot ask.
const AT_TERMINAL: &str = "run it at a terminal";

/// The passphrase that decisions from the command line require, if one is set.
#[derive(Clone, Debug)]
pub(crate) struct PassphraseCheck {
    /// The hashes of the required passphrases. One passphrase has to match them all.
    hashes: Vec<String>,
    /// True if it was entered in this process.
    is_confirmed: Arc<AtomicBool>,
}

impl PassphraseCheck {
    /// The check for decisions about runs of `store`; `None` for runs that are not stored.
    ///
    /// The passphrase of the store is always required. With `[approvals] passphrase`, that of the user's own store is required as well, so
    /// a decision cannot avoid it by naming another store.
    pub(crate) fn open(store: Option<&Store>) -> Result<Self, CommandError> {
        let hash = |store: &Store| store.passphrase().map_err(store::explain);
        let mut hashes: Vec<String> = Vec::new();
        if let Some(store) = store {
            hashes.extend(hash(store)?);
        }
        if settings::own()?.requires_passphrase() {
            if let Some(own) = store::open_if_there(&StoreArguments::default())? {
                hashes.extend(hash(&own)?);
            }
            if hashes.is_empty() {
                return Err(
                    CommandError::new("decisions require a passphrase, and none is set")
                        .hint("set one: `planwright passphrase`"),
                );
            }
        }
        // Both may be the same store.
        hashes.dedup();
        Ok(Self {
            hashes,
            is_confirmed: Arc::default(),
        })
    }

    /// Asks for the passphrase, if one is set and was not entered before in this process. Blocks.
    pub(crate) fn confirm(&self) -> Result<(), CommandError> {
        if self.hashes.is_empty() || self.is_confirmed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let entered = prompt(
            "passphrase for decisions: ",
            "decide at a terminal, or in the form of an MCP client",
        )?;
        for hash in &self.hashes {
            verify(hash, &entered)?;
        }
        self.is_confirmed.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// `planwright passphrase`
pub(crate) fn passphrase(
    arguments: &PassphraseArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    if let Some(hash) = store.passphrase().map_err(store::explain)? {
        verify(&hash, &prompt("current passphrase: ", AT_TERMINAL)?)?;
    } else if arguments.remove {
        return Err(CommandError::new("no passphrase is set"));
    }
    if arguments.remove {
        store.set_passphrase(None).map_err(store::explain)?;
        printer.status("decisions no longer require a passphrase");
        return Ok(Exit::Success);
    }
    let new = prompt("new passphrase: ", AT_TERMINAL)?;
    if new.chars().count() < MIN_CHARS {
        return Err(CommandError::new(format!(
            "a passphrase has at least {MIN_CHARS} characters"
        )));
    }
    if prompt("repeat the new passphrase: ", AT_TERMINAL)? != new {
        return Err(CommandError::new(
            "the passphrases differ; nothing was changed",
        ));
    }
    let hash = Argon2::default()
        .hash_password(new.as_bytes())
        .map_err(|error| CommandError::new(format!("the passphrase cannot be hashed: {error}")))?;
    store
        .set_passphrase(Some(&hash.to_string()))
        .map_err(store::explain)?;
    printer.status("decisions from the command line now require the passphrase");
    Ok(Exit::Success)
}

fn verify(hash: &str, entered: &str) -> Result<(), CommandError> {
    let parsed = PasswordHash::new(hash)
        .map_err(|error| CommandError::new(format!("the stored passphrase is damaged: {error}")))?;
    let verified = Argon2::default().verify_password(entered.as_bytes(), &parsed);
    verified.map_err(|_| CommandError::new("the passphrase is wrong; nothing was changed"))
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
