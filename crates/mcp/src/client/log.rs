//! What a server wrote on its standard error: the end of it, in bounded memory.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How much is kept, in bytes.
const CAPACITY: usize = 64 << 10;

/// How much of it an error shows, in bytes.
const SHOWN: usize = 2 << 10;

/// The last words of one server, over all its starts.
#[derive(Debug)]
pub(super) struct Log {
    // A plain mutex: it is held for a copy of at most the capacity, and never across a wait.
    bytes: Mutex<VecDeque<u8>>,
    secrets: Vec<Arc<str>>,
}

impl Log {
    /// A log that never shows any of the `secrets`.
    pub(super) fn new(secrets: Vec<Arc<str>>) -> Self {
        Self {
            bytes: Mutex::default(),
            secrets,
        }
    }

    /// Adds `bytes`, and forgets as many old ones as do not fit any more.
    pub(super) fn add(&self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(CAPACITY)..];
        let mut kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (kept.len() + bytes.len()).saturating_sub(CAPACITY);
        kept.drain(..excess);
        kept.extend(bytes);
    }

    /// All that is kept.
    pub(super) fn text(&self) -> String {
        let kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = kept.as_slices();
        let mut text = String::from_utf8_lossy(&[first, second].concat()).into_owned();
        drop(kept);
        for secret in &self.secrets {
            text = text.replace(&**secret, "[redacted]");
        }
        text
    }

    /// The end of it, in whole lines where there are any.
    pub(super) fn tail(&self) -> String {
        let text = self.text();
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(SHOWN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let tail = &text[start..];
        match tail.split_once('\n') {
            Some((_, whole)) if start > 0 && !whole.is_empty() => whole.to_owned(),
            _ => tail.to_owned(),
        }
    }
}

/// The beginning of what a server says in an error.
pub(super) fn brief(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN {
        return Cow::Borrowed(text);
    }
    let mut end = SHOWN;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Log, SHOWN, brief};

    #[test]
    fn keeps_the_end() {
        let log = Log::new(vec!["tok-123".into()]);
        assert_eq!(log.tail(), "");
        log.add(b"using tok-123\n");
        assert_eq!(log.text(), "using [redacted]\n");
        log.add(&vec![b'x'; CAPACITY - 4]);
        assert_eq!(log.text().len(), CAPACITY);
        log.add(b"\nlast line\n");
        assert_eq!(log.text().len(), CAPACITY);
        assert!(log.text().ends_with("xxx\nlast line\n"));
        assert_eq!(log.tail(), "last line");
        log.add(&vec![b'y'; 3 * CAPACITY]);
        assert_eq!(log.text(), "y".repeat(CAPACITY));
        log.add("ä".repeat(SHOWN).as_bytes());
        assert_eq!(log.tail(), "ä".repeat(SHOWN / 2));
    }

    #[test]
    fn errors_are_brief() {
        let check = |text: &str, expected: &str| assert_eq!(brief(text), expected);
        let whole = "x".repeat(SHOWN);
        check("no", "no");
        check(&whole, &whole);
        check(&format!("{whole}x"), &format!("{whole}…"));
        check(&"é".repeat(SHOWN), &format!("{}…", "é".repeat(SHOWN / 2)));
    }
}
