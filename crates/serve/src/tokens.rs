//! Bearer tokens of clients: the file that holds their names and hashes, readable by its owner alone, and the tokens that a running server
//! accepts while tokens are created and revoked. Failures of the HTTP server and of the token file, each with the way out.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use planwright::core::text::hex;
use planwright::terminal_text::io_reason;
use planwright_mcp::gateway::ClientId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

const SCHEMA: &str = "planwright.tokens/1";

/// The prefix of tokens, so that people and scanners recognise leaked ones.
const PREFIX: &str = "pwt_";

/// The number of random bytes of a token: 256 bits cannot be guessed.
const TOKEN_BYTES: usize = 32;

/// The longest name of a client.
const MAX_NAME_LENGTH: usize = 64;

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TokenFileContents {
    schema: String,
    tokens: Vec<StoredToken>,
}

/// A stored token: its hash, never the token itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StoredToken {
    pub name: String,
    pub sha256: String,
    pub created: String,
}

/// The file of tokens.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all tokens.
    pub fn read(&self) -> Result<Vec<StoredToken>, ServeError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(ServeError::new(format!(
                    "cannot read `{}`: {}",
                    self.path.display(),
                    io_reason(&error)
                )));
            }
        };
        let unreadable = |what: String| {
            ServeError::new(format!("`{}` {what}", self.path.display()))
                .hint("delete it to refuse all clients, then create the tokens that you need again")
        };
        let contents: TokenFileContents = serde_json::from_str(&text)
            .map_err(|error| unreadable(format!("has an invalid format: {error}")))?;
        if contents.schema != SCHEMA {
            return Err(unreadable(format!(
                "has the unknown version `{}`",
                contents.schema
            )));
        }
        Ok(contents.tokens)
    }

    /// Creates a token for a client that has none.
    pub fn create(&self, name: &str) -> Result<String, ServeError> {
        let is_sign = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.chars().all(is_sign) {
            return Err(
                ServeError::new(format!("`{name}` cannot be the name of a client"))
                    .hint("use up to 64 letters, digits, `_`, `-` and `.`"),
            );
        }
        if name == ClientId::local().as_str() {
            return Err(ServeError::new(format!(
                "`{name}` is reserved for local clients without a token"
            ))
            .hint("choose another name"));
        }
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            ServeError::new(format!("the system has no random numbers: {error}"))
        })?;
        let token = format!("{PREFIX}{}", hex(&bytes));
        let stored = StoredToken {
            name: name.to_owned(),
            sha256: hex(&hash(&token)),
            created: planwright_format::timestamp(now()),
        };
        self.change(|tokens| {
            if tokens.iter().any(|token| token.name == name) {
                return Err(
                    ServeError::new(format!("`{name}` already has a token")).hint(format!(
                        "revoke it with `planwright token revoke {name}`, or choose another name"
                    )),
                );
            }
            tokens.push(stored);
            Ok(())
        })?;
        Ok(token)
    }

    /// Revokes the token of a client.
    pub fn revoke(&self, name: &str) -> Result<(), ServeError> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.name != name);
            if tokens.len() == before {
                return Err(ServeError::new(format!("no client `{name}` has a token"))
                    .hint("`planwright token list` lists those that have one"));
            }
            Ok(())
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<StoredToken>) -> Result<(), ServeError>,
    ) -> Result<(), ServeError> {
        let failed = |error: std::io::Error| {
            let reason = io_reason(&error);
            ServeError::new(format!("cannot write `{}`: {reason}", self.path.display()))
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        // Concurrent changes must not be lost, least of all the revocation of a token.
        let lock = File::create(self.path.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut tokens = self.read()?;
        change(&mut tokens)?;
        let contents = TokenFileContents {
            schema: SCHEMA.to_owned(),
            tokens,
        };
        let text = serde_json::to_string_pretty(&contents)
            .map_err(|error| ServeError::new(format!("cannot write the tokens: {error}")))?;
        // A temporary file is readable by its owner only, and replaces the old file atomically.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&self.path)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Returns the stored form of a token.
pub(super) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line knows what time it is"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// The tokens of a file, read again whenever it changes.
#[derive(Debug)]
pub(crate) struct TokenCache {
    file: TokenFile,
    cached: Mutex<CachedTokens>,
}

#[derive(Debug)]
struct CachedTokens {
    stamp: Option<FileStamp>,
    tokens: Vec<TokenOwner>,
}

/// The hash of a token, and the name of its client.
pub(crate) type TokenOwner = ([u8; 32], Arc<str>);

/// The identity of a version of the file, which is replaced and never written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl TokenCache {
    /// Opens the cache of the tokens of a file.
    pub(crate) fn open(file: TokenFile) -> Result<Self, ServeError> {
        let stamp = stamp(&file);
        let tokens = read(&file)?;
        let cached = Mutex::new(CachedTokens { stamp, tokens });
        Ok(Self { file, cached })
    }

    /// Returns true if there are no tokens.
    pub(crate) fn is_empty(&self) -> bool {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.tokens.is_empty()
    }

    /// Returns the current tokens, each with its owner.
    pub(crate) fn all(&self) -> HashSet<TokenOwner> {
        self.current().tokens.iter().cloned().collect()
    }

    fn current(&self) -> MutexGuard<'_, CachedTokens> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.file);
        if stamp != cached.stamp {
            // A file that cannot be read authorises no client.
            cached.tokens = read(&self.file).unwrap_or_default();
            cached.stamp = stamp;
        }
        cached
    }

    /// Returns the owner of a token. The time depends on the number of tokens alone.
    pub(crate) fn owner(&self, token: &str) -> Option<Arc<str>> {
        self.owner_of_hash(&hash(token))
    }

    /// Returns the owner of the token with this hash.
    pub(crate) fn owner_of_hash(&self, wanted: &[u8; 32]) -> Option<Arc<str>> {
        let cached = self.current();
        let mut found = 0_u64;
        let mut any = Choice::from(0);
        for (index, (known, _)) in (0_u64..).zip(&cached.tokens) {
            let is_it = known.ct_eq(wanted);
            found.conditional_assign(&index, is_it);
            any |= is_it;
        }
        if !bool::from(any) {
            return None;
        }
        let (_, owner) = cached.tokens.get(usize::try_from(found).ok()?)?;
        Some(Arc::clone(owner))
    }
}

fn read(file: &TokenFile) -> Result<Vec<TokenOwner>, ServeError> {
    let tokens = file.read()?.into_iter();
    let known = tokens.filter_map(|token| Some((unhex(&token.sha256)?, token.name.into())));
    Ok(known.collect())
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = text.get(2 * index..2 * index + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

fn stamp(file: &TokenFile) -> Option<FileStamp> {
    let found = fs::metadata(file.path()).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let inode = 0;
    Some(FileStamp {
        modified: found.modified().ok(),
        length: found.len(),
        inode,
    })
}

/// The reason why the server cannot start, or a token cannot be read or written: one clause, and hints apart from it.
#[derive(Debug)]
pub struct ServeError {
    message: String,
    hints: Vec<String>,
}

impl ServeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the hints, one clause each.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_as_a_hash_that_its_owner_alone_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("inner/tokens.json"));
        let token = file.create("ada").unwrap();
        assert!(token.starts_with("pwt_") && token.len() == 68, "{token}");
        assert_ne!(token, file.create("bob").unwrap());
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(&token["pwt_".len()..]), "{text}");
        assert!(text.contains(&hex(&hash(&token))), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(file.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
        file.revoke("ada").unwrap();
        let names: Vec<String> = file
            .read()
            .unwrap()
            .into_iter()
            .map(|token| token.name)
            .collect();
        assert_eq!(names, ["bob"]);
    }

    #[track_caller]
    fn check_error(result: Result<impl Sized, ServeError>, expected: &str) {
        let error = result.map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_cannot_be_done() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("tokens.json"));
        check_error(file.create(""), "`` cannot be the name of a client");
        check_error(file.create("a b"), "`a b` cannot be the name of a client");
        check_error(
            file.create("local"),
            "`local` is reserved for local clients without a token",
        );
        check_error(file.revoke("ada"), "no client `ada` has a token");
        file.create("ada").unwrap();
        check_error(file.create("ada"), "`ada` already has a token");
        fs::write(
            file.path(),
            r#"{"schema": "planwright.tokens/9", "tokens": []}"#,
        )
        .unwrap();
        let path = file.path().display().to_string();
        check_error(
            file.create("bob"),
            &format!("`{path}` has the unknown version `planwright.tokens/9`"),
        );
    }

    #[test]
    fn tokens_come_and_go_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("tokens.json"));
        let known = TokenCache::open(file.clone()).unwrap();
        assert!(known.is_empty());
        let (ada, bob) = (file.create("ada").unwrap(), file.create("bob").unwrap());
        assert_eq!(known.owner(&ada).as_deref(), Some("ada"));
        assert_eq!(known.owner(&bob).as_deref(), Some("bob"));
        for wrong in [
            "",
            "pwt_",
            &ada[..ada.len() - 1],
            &ada.to_uppercase(),
            "ada",
        ] {
            assert_eq!(known.owner(wrong), None, "{wrong}");
        }
        file.revoke("ada").unwrap();
        assert_eq!(known.owner(&ada), None);
        assert_eq!(known.owner(&bob).as_deref(), Some("bob"));
        fs::remove_file(file.path()).unwrap();
        assert_eq!(known.owner(&bob), None);
    }
}
