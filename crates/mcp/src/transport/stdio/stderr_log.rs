//! The end of the standard error output of a server, and what it wrote to its standard output that is not a message.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_engine::run::Redactor;

use crate::session::envelope;
use crate::session::message_text::MAX_SHOWN;

/// The capacity in bytes.
const CAPACITY: usize = 64 << 10;

/// Maximum number of bytes stored of a line on standard output that is not a message.
const MAX_NOISE: usize = 200;

/// The standard error output of one server across its starts.
#[derive(Debug)]
pub(crate) struct StderrLog {
    // Held for a copy of at most the capacity, never across an await.
    tail: Mutex<LogTail>,
    strays: Mutex<StrayLines>,
    redactor: Redactor,
}

/// The lines on standard output that are no messages for this client.
#[derive(Debug, Default)]
struct StrayLines {
    count: u64,
    /// A description of the last one, as a clause whose subject is the server.
    last: String,
}

#[derive(Debug, Default)]
struct LogTail {
    bytes: VecDeque<u8>,
    /// True if earlier output was dropped.
    is_truncated: bool,
}

impl StderrLog {
    /// Creates a log that redacts the `secrets`.
    pub(crate) fn new(secrets: Vec<Arc<str>>) -> Self {
        Self {
            tail: Mutex::default(),
            strays: Mutex::default(),
            redactor: Redactor::new(secrets),
        }
    }

    /// Appends `bytes`, and drops the oldest ones beyond the capacity.
    pub(crate) fn add(&self, bytes: &[u8]) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (tail.bytes.len() + bytes.len()).saturating_sub(CAPACITY);
        tail.is_truncated |= excess > 0;
        let old = excess.min(tail.bytes.len());
        tail.bytes.drain(..old);
        tail.bytes.extend(&bytes[excess - old..]);
    }

    /// Appends the beginning of a line on standard output that is not a message, or answers no request.
    pub(crate) fn add_stdout_line(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let shown = self.redactor.cut(&text, MAX_NOISE);
        let stray = envelope::describe_stray(line, |text| self.redactor.cut(text, MAX_NOISE));
        self.add(format!("[on stdout, not a message] {shown}\n").as_bytes());
        let mut strays = self.strays();
        strays.count += 1;
        strays.last = stray;
    }

    /// Returns the number of lines on standard output so far that were no messages for this client.
    pub(crate) fn stray_count(&self) -> u64 {
        self.strays().count
    }

    /// Describes the last line on standard output that was no message for this client, if there is one after the first `count` ones.
    pub(crate) fn stray_since(&self, count: u64) -> Option<String> {
        let strays = self.strays();
        (strays.count > count).then(|| strays.last.clone())
    }

    fn strays(&self) -> MutexGuard<'_, StrayLines> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stored output, after an ellipsis if earlier output was dropped.
    pub(crate) fn text(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = tail.bytes.as_slices();
        let bytes = [first, second].concat();
        let is_truncated = tail.is_truncated;
        drop(tail);
        let text = String::from_utf8_lossy(&bytes);
        // The mark also tells the redactor that a secret may lack its beginning.
        let mark = if is_truncated { "…" } else { "" };
        self.redactor.text(&format!("{mark}{text}")).into_owned()
    }

    /// Returns the end of the output, in whole lines if possible.
    pub(crate) fn tail(&self) -> String {
        let text = self.text();
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(MAX_SHOWN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let tail = &text[start..];
        match tail.split_once('\n') {
            Some((_, whole)) if start > 0 && !whole.is_empty() => whole.to_owned(),
            _ if start > 0 => format!("…{tail}"),
            _ => tail.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, StderrLog};
    use crate::session::message_text::MAX_SHOWN;

    #[test]
    fn keeps_the_end() {
        let log = StderrLog::new(vec!["tok-123".into()]);
        assert_eq!(log.tail(), "");
        log.add(b"using tok-123\n");
        assert_eq!(log.text(), "using [redacted]\n");
        log.add(&vec![b'x'; CAPACITY - 4]);
        let limit = CAPACITY + '…'.len_utf8();
        assert!(log.text().starts_with('…'));
        log.add(b"\nlast line\n");
        assert_eq!(log.text().len(), limit);
        assert!(log.text().ends_with("xxx\nlast line\n"));
        assert_eq!(log.tail(), "last line");
        log.add(&vec![b'y'; 3 * CAPACITY]);
        assert_eq!(log.text(), format!("…{}", "y".repeat(CAPACITY)));
        log.add("ä".repeat(MAX_SHOWN).as_bytes());
        assert_eq!(log.tail(), format!("…{}", "ä".repeat(MAX_SHOWN / 2)));
    }

    #[test]
    fn a_cut_shows_no_part_of_a_secret() {
        let log = || StderrLog::new(vec!["tok-1234567890abcdef".into()]);
        let noisy = log();
        noisy.add_stdout_line(format!("{}tok-1234567890abcdef", "x".repeat(185)).as_bytes());
        let text = noisy.text();
        assert!(!text.contains("tok-"), "{text}");
        // In pieces, across two lines, without its beginning.
        let pieces = log();
        pieces.add(b"a tok-12345");
        pieces.add(b"67890abcdef b\ntok-1234567\n890abcdef c");
        assert_eq!(pieces.text(), "a [redacted] b\n[redacted] c");
        let full = log();
        full.add(b"tok-1234567890abcdef\n");
        full.add(&vec![b'x'; CAPACITY - 11]);
        let text = full.text();
        assert!(text.starts_with("…[redacted]\nxxx"), "{}", &text[..40]);
    }
}
