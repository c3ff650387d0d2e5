//! An incremental parser of server-sent events with a length limit.

use std::collections::VecDeque;

/// A server-sent event. It may consist of only an id, from which the stream can be resumed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub(super) kind: Option<String>,
    pub(super) data: Option<Vec<u8>>,
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
}

/// The error of an event beyond the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLong;

#[derive(Debug)]
pub(super) struct SseParser {
    limit: usize,
    line: Vec<u8>,
    event: SseEvent,
    ready: VecDeque<SseEvent>,
    // True after `\r`: a following `\n`, possibly in the next piece, belongs to the same line end.
    ended_with_return: bool,
    is_first_line: bool,
}

impl SseParser {
    /// Creates a parser for events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: SseEvent::default(),
            ready: VecDeque::new(),
            ended_with_return: false,
            is_first_line: true,
        }
    }

    pub(super) fn push(&mut self, mut piece: &[u8]) -> Result<(), EventTooLong> {
        if self.ended_with_return {
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
            self.ended_with_return = piece.is_empty();
        }
        while let Some(end) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.add(&piece[..end])?;
            self.end_line();
            let rest = &piece[end + 1..];
            piece = match piece[end] {
                b'\r' => {
                    self.ended_with_return = rest.is_empty();
                    rest.strip_prefix(b"\n").unwrap_or(rest)
                }
                _ => rest,
            };
        }
        self.add(piece)
    }

    pub(super) fn next(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        // A comment may be of any length, but only its first byte is stored.
        if self.line.first().or(bytes.first()) == Some(&b':') {
            self.line = vec![b':'];
            return Ok(());
        }
        let data = self.event.data.as_ref().map_or(0, Vec::len);
        if data + self.line.len() + bytes.len() > self.limit {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        // The specification allows a byte order mark at the start of a stream.
        if std::mem::take(&mut self.is_first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if event != SseEvent::default() {
                self.ready.push_back(event);
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let name = &line[..colon.unwrap_or(line.len())];
        let value = colon.map_or(&[][..], |colon| &line[colon + 1..]);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => match &mut self.event.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.event.data = Some(value.to_vec()),
            },
            b"event" => self.event.kind = Some(text()),
            // The specification ignores ids with a NUL character.
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EventTooLong, SseParser};

    /// Returns the events of `text`, which must not depend on how it is split.
    fn check(text: &str) -> String {
        let read = |size: usize| {
            let mut reader = SseParser::new(40);
            for piece in text.as_bytes().chunks(size) {
                if reader.push(piece) == Err(EventTooLong) {
                    return "too long".to_owned();
                }
            }
            let events = std::iter::from_fn(|| reader.next()).map(|event| {
                let data = event.data.map(|data| String::from_utf8(data).unwrap());
                format!("{:?} {data:?} {:?} {:?}", event.kind, event.id, event.retry)
            });
            events.collect::<Vec<String>>().join("\n")
        };
        let whole = read(text.len());
        for size in 1..text.len() {
            assert_eq!(read(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn parses_events() {
        insta::assert_snapshot!(
            check("data: a\n\ndata:b\ndata: c\r\n\r\n: nothing\n\nevent: x\rdata\r\rid: 7\nretry: 20\ndata:\n\ndata: cut"),
            @r#"
        None Some("a") None None
        None Some("b\nc") None None
        Some("x") Some("") None None
        None Some("") Some("7") Some(20)
        "#);
        insta::assert_snapshot!(check("\u{feff}data: ä\n\nid: only\n\nretry: soon\n\n"), @r#"
        None Some("ä") None None
        None None Some("only") None
        "#);
    }

    #[test]
    fn limits_events() {
        let long = "x".repeat(60);
        assert_eq!(check(&format!("data: {long}\n\n")), "too long");
        assert_eq!(
            check(&format!("data: {0}\ndata: {0}\n\n", &long[..25])),
            "too long"
        );
        assert_eq!(check(&format!(": {long}\n\n")), "");
    }
}
