//! The ids of runs, and random ids.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The id of a run: 1 to 128 ASCII letters, digits, `_`, `-` and `.`, with no `.` in front.
///
/// A text that may be only the beginning of an id, such as an argument of a command, is not a `RunId`: the store finds the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct RunId(Arc<str>);

/// The maximum length of a run id, in bytes.
const MAX_LENGTH: usize = 128;

impl RunId {
    /// A [random id](random_id).
    ///
    /// # Panics
    ///
    /// See [`random_id`].
    pub fn random() -> Self {
        Self(random_id())
    }

    /// Returns true if `text` can be the id of a run.
    pub fn is_valid(text: &str) -> bool {
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        !text.is_empty()
            && text.len() <= MAX_LENGTH
            // Ids become file names: a leading dot would hide the file, or lead to another folder.
            && !text.starts_with('.')
            && text.bytes().all(is_allowed)
    }

    /// Returns the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text cannot be the id of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the id of a run: only up to 128 letters, digits, `_`, `-` and `.` can, with no `.` in front"
)]
pub struct InvalidRunId(Arc<str>);

impl InvalidRunId {
    fn new(text: &str) -> Self {
        // An invalid id may have any length, but the message must stay short.
        Self(text.chars().take(MAX_LENGTH).collect::<String>().into())
    }
}

impl TryFrom<Arc<str>> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: Arc<str>) -> Result<Self, InvalidRunId> {
        if Self::is_valid(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidRunId::new(&text))
        }
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: String) -> Result<Self, InvalidRunId> {
        Arc::<str>::from(text).try_into()
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        if Self::is_valid(text) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidRunId::new(text))
        }
    }
}

impl From<RunId> for Arc<str> {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tables align ids, so the width of the format applies.
        f.pad(&self.0)
    }
}

impl AsRef<str> for RunId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for RunId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for RunId {
    fn eq(&self, text: &str) -> bool {
        *self.0 == *text
    }
}

impl PartialEq<&str> for RunId {
    fn eq(&self, text: &&str) -> bool {
        *self.0 == **text
    }
}

/// Returns 16 random hexadecimal digits, from the system's generator. All random ids come from here.
///
/// # Panics
///
/// If the system gives no randomness: without it ids could repeat, and with them idempotency keys.
#[expect(clippy::expect_used, reason = "no run is safe without unique ids")]
pub fn random_id() -> Arc<str> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system's generator of random bytes");
    // 64 bits, as hexadecimal digits that file systems without case cannot confuse.
    format!("{:016x}", u64::from_be_bytes(bytes)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_words() {
        for text in ["a", "A-1_b.c", "0", "-", &"x".repeat(MAX_LENGTH)] {
            let id: RunId = text.parse().unwrap();
            assert_eq!(id, text);
            assert_eq!(id.to_string(), text);
        }
        for text in [
            "",
            ".",
            "..",
            ".a",
            "a/b",
            "a\\b",
            "a b",
            "ä",
            "a\0",
            "a*",
            &"x".repeat(MAX_LENGTH + 1),
        ] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
            assert!(RunId::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_message_quotes_a_part_of_a_long_id() {
        let error = "ä".repeat(1000).parse::<RunId>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{}` cannot", "ä".repeat(MAX_LENGTH))),
            "{error}"
        );
    }

    #[test]
    fn an_id_is_a_text_in_json() {
        let id: RunId = serde_json::from_str("\"r1\"").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"r1\"");
        assert!(serde_json::from_str::<RunId>("\"../r1\"").is_err());
    }

    #[test]
    fn random_ids_are_valid_and_differ() {
        let (one, other) = (RunId::random(), RunId::random());
        assert!(RunId::is_valid(one.as_str()), "{one}");
        assert_eq!(one.as_str().len(), 16);
        assert_ne!(one, other);
    }
}
