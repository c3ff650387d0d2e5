//! Plans that were written before, each under a digest of everything that it was written from.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::error::{CommandError, reason};
use crate::{convert, environment};

/// Returns a digest of several texts.
pub(super) fn key(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The plan that was written from the same.
pub(super) fn get(key: &str) -> Result<Option<String>, CommandError> {
    let file = file(key)?;
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::unreadable(&file, &error)),
    }
}

/// Keeps a plan for the next time.
pub(super) fn keep(key: &str, text: &str) -> Result<(), CommandError> {
    let file = file(key)?;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            CommandError::new(format!(
                "cannot make the folder `{}`: {}",
                folder.display(),
                reason(&error)
            ))
        })?;
    }
    // Written as a temporary file first, which its owner alone may read.
    convert::write(text, &file, true)
}

fn file(key: &str) -> Result<PathBuf, CommandError> {
    let folder = environment::data_folder().ok_or_else(|| {
        CommandError::new("there is no folder of data").hint("set `HOME` or `XDG_DATA_HOME`")
    })?;
    Ok(folder.join("created").join(format!("{key}.json")))
}
