//! The passphrase that decisions about calls of stored runs require, if one is set, and the proof that a person has entered it.
//!
//! A program that runs as the same user could decide about its own calls, but it does not know the passphrase.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use planwright_store::{Store, StoreError};

/// The minimum length of a passphrase, in characters.
const MIN_CHARS: usize = 8;

/// The passphrase that decisions require, if one is set.
#[derive(Clone, Debug, Default)]
pub struct Passphrase {
    hashes: Vec<String>,
}

/// The proof that a person has entered the passphrase of one or more stores.
#[derive(Clone, Debug)]
pub struct ConfirmedPassphrase {
    hashes: Vec<String>,
}

/// The reason why a passphrase is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PassphraseError {
    /// Decisions require the passphrase, and it was not entered.
    #[error("decisions require the passphrase")]
    Required,
    /// Another passphrase was entered.
    #[error("the passphrase is wrong; nothing was changed")]
    Wrong,
    /// A new passphrase is too short.
    #[error("a passphrase has at least {MIN_CHARS} characters")]
    TooShort,
    /// The hash in the store cannot be read.
    #[error("the stored passphrase is damaged: {0}")]
    Damaged(String),
    /// A new passphrase cannot be hashed.
    #[error("the passphrase cannot be hashed: {0}")]
    Unhashable(String),
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Passphrase {
    /// Returns the passphrase that decisions about runs of all `stores` require. If several have one, a single text has to match all of
    /// them.
    ///
    /// # Errors
    ///
    /// Those of [`Store::passphrase`].
    pub fn of<'a>(stores: impl IntoIterator<Item = &'a Store>) -> Result<Self, StoreError> {
        let mut hashes = Vec::new();
        for store in stores {
            hashes.extend(store.passphrase()?);
        }
        // Several handles may be of the same store.
        hashes.dedup();
        Ok(Self { hashes })
    }

    /// Returns true if a passphrase is set.
    pub fn is_set(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Compares what a person has entered. It takes some ten milliseconds, by design.
    ///
    /// # Errors
    ///
    /// [`PassphraseError::Wrong`], or [`PassphraseError::Damaged`].
    pub fn confirm(&self, entered: &str) -> Result<ConfirmedPassphrase, PassphraseError> {
        for hash in &self.hashes {
            let parsed = PasswordHash::new(hash)
                .map_err(|error| PassphraseError::Damaged(error.to_string()))?;
            let verified = Argon2::default().verify_password(entered.as_bytes(), &parsed);
            verified.map_err(|_| PassphraseError::Wrong)?;
        }
        Ok(ConfirmedPassphrase {
            hashes: self.hashes.clone(),
        })
    }

    /// Checks that `new` can be a passphrase.
    ///
    /// # Errors
    ///
    /// [`PassphraseError::TooShort`].
    pub fn check_new(new: &str) -> Result<(), PassphraseError> {
        if new.chars().count() < MIN_CHARS {
            return Err(PassphraseError::TooShort);
        }
        Ok(())
    }

    /// Sets the passphrase of `store`; `None` removes it. Callers ask for the current one first.
    ///
    /// # Errors
    ///
    /// [`PassphraseError::TooShort`], [`PassphraseError::Unhashable`], or an error of the store.
    pub fn set(store: &Store, new: Option<&str>) -> Result<(), PassphraseError> {
        let Some(new) = new else {
            return Ok(store.set_passphrase(None)?);
        };
        Self::check_new(new)?;
        let hash = Argon2::default()
            .hash_password(new.as_bytes())
            .map_err(|error| PassphraseError::Unhashable(error.to_string()))?;
        Ok(store.set_passphrase(Some(&hash.to_string()))?)
    }
}

/// The party that decides about a call of a stored run, with the proof that it may.
#[derive(Clone, Debug, Default)]
pub struct Decider {
    name: Option<String>,
    proof: Proof,
}

#[derive(Clone, Debug, Default)]
enum Proof {
    #[default]
    None,
    Passphrase(ConfirmedPassphrase),
    ClientForm,
}

impl Decider {
    /// A person by name, without a passphrase. If the store has one, such a decision is refused.
    pub fn new(name: Option<String>) -> Self {
        Self {
            name,
            proof: Proof::None,
        }
    }

    /// The person has entered the passphrase.
    #[must_use]
    pub fn confirmed(mut self, passphrase: ConfirmedPassphrase) -> Self {
        self.proof = Proof::Passphrase(passphrase);
        self
    }

    /// The person who answers a form of an MCP client. The protocol forbids to ask for secrets in a form, so such a decision needs no
    /// passphrase: the client controls who answers.
    pub fn client_form() -> Self {
        Self {
            name: None,
            proof: Proof::ClientForm,
        }
    }

    /// The name that is stored with a decision.
    pub(super) fn name(&self) -> Option<String> {
        self.name.clone()
    }

    /// Checks that the decider may decide about runs of `store`. With `always`, a proof is required even if the store has no passphrase.
    pub(crate) fn check(&self, store: &Store, always: bool) -> Result<(), PassphraseError> {
        // Read at each decision, since the passphrase may have been set meanwhile.
        let hash = store.passphrase()?;
        let is_proven = match &self.proof {
            Proof::None => hash.is_none() && !always,
            Proof::Passphrase(confirmed) => match &hash {
                Some(hash) => confirmed.hashes.contains(hash),
                None => !always || !confirmed.hashes.is_empty(),
            },
            Proof::ClientForm => true,
        };
        if is_proven {
            Ok(())
        } else {
            Err(PassphraseError::Required)
        }
    }
}
