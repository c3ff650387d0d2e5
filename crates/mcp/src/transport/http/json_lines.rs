//! An incremental splitter of a JSON body into messages, with a length limit.
//!
//! A body holds one message by the specification, on any number of lines. Some servers stream several, one per line.

/// The error of a message beyond the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageTooLong;

/// A line end outside of all braces and texts ends a message, so an indented message stays in one piece.
#[derive(Debug)]
pub(super) struct JsonLines {
    limit: usize,
    bytes: Vec<u8>,
    // The part of `bytes` that is scanned.
    scanned: usize,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl JsonLines {
    /// Creates a splitter for messages of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: Vec::new(),
            scanned: 0,
            depth: 0,
            in_text: false,
            is_escaped: false,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// Returns the next message that a line end follows.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, MessageTooLong> {
        while let Some(byte) = self.bytes.get(self.scanned) {
            self.scanned += 1;
            if self.scan(*byte)
                && let Some(message) = self.take(self.scanned)
            {
                return self.check(message.len()).map(|()| Some(message));
            }
        }
        self.check(self.bytes.len()).map(|()| None)
    }

    /// Returns the message at the end of the body.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        self.take(self.bytes.len())
    }

    /// Returns true if `byte` ends a message.
    fn scan(&mut self, byte: u8) -> bool {
        if self.in_text {
            let is_escaped = std::mem::take(&mut self.is_escaped);
            match byte {
                b'\\' => self.is_escaped = !is_escaped,
                b'"' => self.in_text = is_escaped,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        byte == b'\n' && self.depth == 0
    }

    /// Takes the first `length` bytes, unless they are blank.
    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let rest = self.bytes.split_off(length);
        self.scanned = 0;
        let message = std::mem::replace(&mut self.bytes, rest);
        (!message.trim_ascii().is_empty()).then_some(message)
    }

    fn check(&self, length: usize) -> Result<(), MessageTooLong> {
        if length > self.limit {
            return Err(MessageTooLong);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonLines, MessageTooLong};

    /// Returns the messages of `text`, which must not depend on how it is split.
    fn check(text: &str) -> Vec<String> {
        let read = |size: usize| {
            let mut lines = JsonLines::new(40);
            let mut messages = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                lines.push(piece);
                loop {
                    match lines.next() {
                        Ok(Some(message)) => messages.push(message),
                        Ok(None) => break,
                        Err(MessageTooLong) => return vec!["too long".to_owned()],
                    }
                }
            }
            messages.extend(lines.rest());
            let text = |message| String::from_utf8(message).unwrap().trim().to_owned();
            messages.into_iter().map(text).collect()
        };
        let whole = read(text.len());
        for size in 1..text.len() {
            assert_eq!(read(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn splits_at_line_ends() {
        assert_eq!(
            check("{\"a\":1}\n{\"b\":2}\r\n{\"c\":"),
            ["{\"a\":1}", "{\"b\":2}", "{\"c\":"]
        );
        assert_eq!(check("\n \n{}\n\n"), ["{}"]);
    }

    #[test]
    fn a_message_may_have_several_lines() {
        let message = "{\n \"a\": [\n1\n]\n}";
        assert_eq!(check(message), [message]);
    }

    #[test]
    fn texts_end_nothing() {
        let lines = ["{\"a\":\"}\\\"}\\\\\"}", "{\"}\n\":1}"];
        assert_eq!(check(&lines.join("\n")), lines);
    }

    #[test]
    fn what_is_no_json_ends_at_its_line() {
        assert_eq!(check("}\n{} no\n[]"), ["}", "{} no", "[]"]);
    }

    #[test]
    fn limits_messages() {
        let long = format!("\"{}\"", "x".repeat(30));
        assert_eq!(check(&format!("{long}\n{long}\n{long}")).len(), 3);
        assert_eq!(check(&format!("[{long},\n{long}]")), ["too long"]);
    }
}
