//! The owners of tokens, for a server that runs while tokens are created and revoked.

use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::file::{TokenFile, hash};
use crate::error::ServeError;

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

/// The hash of a token, and whose it is.
pub(crate) type TokenOwner = ([u8; 32], Arc<str>);

/// The mark of a version of the file: it is never written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl TokenCache {
    /// The current tokens of a file.
    pub(crate) fn open(file: TokenFile) -> Result<Self, ServeError> {
        let stamp = stamp(&file);
        let tokens = read(&file)?;
        let cached = Mutex::new(CachedTokens { stamp, tokens });
        Ok(Self { file, cached })
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.tokens.is_empty()
    }

    /// The tokens as they are now, by hash, each with its owner.
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
        let cached = self.current();
        let wanted = hash(token);
        let mut found = 0_u64;
        let mut any = Choice::from(0);
        for (index, (known, _)) in (0_u64..).zip(&cached.tokens) {
            let is_it = known.ct_eq(&wanted);
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

#[cfg(test)]
mod tests {
    use super::*;

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
