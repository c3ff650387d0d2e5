//! The file of tokens: names and hashes, readable by its owner alone.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use planwright::terminal_text::io_reason;
use planwright_mcp::gateway::ClientId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ServeError;

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

    /// All tokens that there are.
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
            .map_err(|error| unreadable(format!("cannot be understood: {error}")))?;
        if contents.schema != SCHEMA {
            return Err(unreadable(format!(
                "has the unknown version `{}`",
                contents.schema
            )));
        }
        Ok(contents.tokens)
    }

    /// Makes a token for a client that has none.
    pub fn create(&self, name: &str) -> Result<String, ServeError> {
        let is_sign = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.chars().all(is_sign) {
            return Err(
                ServeError::new(format!("`{name}` can be no name of a client"))
                    .hint("use up to 64 letters, digits, `_`, `-` and `.`"),
            );
        }
        if name == ClientId::local().as_str() {
            return Err(ServeError::new(format!(
                "`{name}` is who works on this machine without a token"
            ))
            .hint("choose another name"));
        }
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| ServeError::new(format!("the system gives no randomness: {error}")))?;
        let token = format!("{PREFIX}{}", hex(&bytes));
        let stored = StoredToken {
            name: name.to_owned(),
            sha256: hex(&hash(&token)),
            created: planwright_format::timestamp(now()),
        };
        self.change(|tokens| {
            if tokens.iter().any(|token| token.name == name) {
                return Err(
                    ServeError::new(format!("`{name}` has a token already")).hint(format!(
                        "take it back with `planwright token revoke {name}`, or choose another name"
                    )),
                );
            }
            tokens.push(stored);
            Ok(())
        })?;
        Ok(token)
    }

    /// Takes a client's token back.
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
        // A temporary file is readable by its owner alone, and takes the old one's place in one go.
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

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line knows what time it is"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

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
        check_error(file.create(""), "`` can be no name of a client");
        check_error(file.create("a b"), "`a b` can be no name of a client");
        check_error(
            file.create("local"),
            "`local` is who works on this machine without a token",
        );
        check_error(file.revoke("ada"), "no client `ada` has a token");
        file.create("ada").unwrap();
        check_error(file.create("ada"), "`ada` has a token already");
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
}
