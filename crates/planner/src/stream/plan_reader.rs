//! Incremental detection of plan steps in a partial reply.

use planwright_dialects::native::PlanDialect;
use planwright_dialects::native::lines::StreamingLineReader;

/// Maximum nesting depth; more than any dialect accepts.
const MAX_DEPTH: usize = 200;

/// Finds the plan in a model's reply while the reply streams in: the first object with a `steps` list, or with a `plan` object that
/// has one. Checks only JSON structure, in time linear in the length of the reply.
///
/// ```
/// use planwright_planner::stream::PlanReader;
///
/// let mut reader = PlanReader::new(1000);
/// assert_eq!(reader.feed(r#"Sure: {"name": "n", "steps": [{"id": "a"}, {"id"#), 1);
/// assert_eq!(reader.beginning().unwrap(), r#"{"name": "n", "steps": [{"id": "a"}]}"#);
/// ```
#[derive(Clone, Debug)]
pub struct PlanReader {
    text: String,
    max_bytes: usize,
    /// Offset of the next byte to scan.
    at: usize,
    /// Open containers, outermost first; `true` is a list.
    open: Vec<bool>,
    expected: Expected,
    /// Offset of the latest key.
    key: usize,
    /// Offsets of the candidates for the plan: the outermost object, and the object under its `plan` key.
    starts: [usize; 2],
    /// The key of the next value.
    key_kind: PlanKey,
    /// Offset of the plan and nesting depth of its steps, once the steps begin.
    plan: Option<(usize, usize)>,
    /// End offset of each complete step.
    ends: Vec<usize>,
    is_finished: bool,
}

/// Scanner state: the token expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Any text: no object has started.
    Prose,
    Value,
    /// A value, or the end of an empty list.
    ValueOrEnd,
    /// A key, or the end of an empty object.
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    /// The rest of a string, which may be a key.
    Text {
        is_key: bool,
        is_escaped: bool,
    },
    /// The rest of a number or keyword.
    Scalar,
}

/// Keys that locate the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanKey {
    Steps,
    Plan,
    Other,
}

/// Marker for input that is not valid JSON.
struct InvalidJson;

impl PlanReader {
    /// Creates a reader for replies of at most `max_bytes` bytes. A longer reply ends the reading.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            at: 0,
            open: Vec::new(),
            expected: Expected::Prose,
            key: 0,
            starts: [0; 2],
            key_kind: PlanKey::Other,
            plan: None,
            ends: Vec::new(),
            is_finished: false,
        }
    }

    /// Consumes the next chunk and returns the number of steps it completes.
    pub fn feed(&mut self, chunk: &str) -> usize {
        let before = self.ends.len();
        // The complete reply will be rejected for its length.
        if self.text.len() + chunk.len() > self.max_bytes {
            self.is_finished = true;
        }
        if self.is_finished {
            return 0;
        }
        self.text.push_str(chunk);
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if self.scan(byte).is_err() {
                self.discard_object();
            }
            if self.is_finished {
                break;
            }
            self.at += 1;
        }
        self.ends.len() - before
    }

    /// Returns the number of complete steps.
    pub fn steps(&self) -> usize {
        self.ends.len()
    }

    /// Returns the plan up to its last complete step, closed as valid JSON.
    pub fn beginning(&self) -> Option<String> {
        let (start, _) = self.plan?;
        let end = *self.ends.last()?;
        let text = self.text.get(start..end)?;
        Some(format!("{text}]}}"))
    }

    /// Discards an object that turned out not to be JSON, since prose contains braces too. If its steps had begun, it was a broken
    /// plan, and reading ends: repairing it needs the whole reply.
    fn discard_object(&mut self) {
        self.is_finished = self.plan.is_some();
        self.open.clear();
        self.expected = Expected::Prose;
        // The byte that broke the object may open another one.
        if self.text.as_bytes().get(self.at) == Some(&b'{') {
            self.start_object();
        }
    }

    fn start_object(&mut self) {
        self.starts = [self.at; 2];
        self.key_kind = PlanKey::Other;
        self.open.push(false);
        self.expected = Expected::KeyOrEnd;
    }

    fn scan(&mut self, byte: u8) -> Result<(), InvalidJson> {
        match self.expected {
            Expected::Prose if byte == b'{' => self.start_object(),
            Expected::Text {
                is_key,
                is_escaped: false,
            } if byte == b'"' => self.end_text(is_key),
            Expected::Text { is_key, is_escaped } => {
                self.expected = Expected::Text {
                    is_key,
                    is_escaped: !is_escaped && byte == b'\\',
                };
            }
            Expected::Scalar if is_scalar_byte(byte) => {}
            Expected::Prose => {}
            _ if byte.is_ascii_whitespace() => {
                // Numbers and keywords have no closing byte, so whatever follows closes them.
                if self.expected == Expected::Scalar {
                    self.expected = Expected::CommaOrEnd;
                }
            }
            Expected::ValueOrEnd if byte == b']' => self.close(true)?,
            Expected::Value | Expected::ValueOrEnd => self.value(byte)?,
            Expected::KeyOrEnd if byte == b'}' => self.close(false)?,
            Expected::KeyOrEnd | Expected::Key if byte == b'"' => {
                self.key = self.at + 1;
                self.expected = text(true);
            }
            Expected::Colon if byte == b':' => self.expected = Expected::Value,
            Expected::CommaOrEnd | Expected::Scalar => match byte {
                b',' => self.next()?,
                b']' => self.close(true)?,
                b'}' => self.close(false)?,
                _ => return Err(InvalidJson),
            },
            Expected::KeyOrEnd | Expected::Key | Expected::Colon => return Err(InvalidJson),
        }
        Ok(())
    }

    fn value(&mut self, byte: u8) -> Result<(), InvalidJson> {
        match byte {
            b'{' | b'[' => self.open_value(byte == b'[')?,
            b'"' => self.expected = text(false),
            _ if is_scalar_byte(byte) => self.expected = Expected::Scalar,
            _ => return Err(InvalidJson),
        }
        Ok(())
    }

    fn open_value(&mut self, is_list: bool) -> Result<(), InvalidJson> {
        let depth = self.open.len();
        if depth >= MAX_DEPTH {
            return Err(InvalidJson);
        }
        // Only two places count, so that a `steps` list within arguments is not taken for the plan.
        let in_plan = depth == 1 || depth == 2 && self.starts[1] != self.starts[0];
        if in_plan && self.plan.is_none() {
            if is_list && self.key_kind == PlanKey::Steps {
                self.plan = Some((self.starts[depth - 1], depth + 1));
            } else if !is_list && self.key_kind == PlanKey::Plan && depth == 1 {
                self.starts[1] = self.at;
            }
        }
        self.open.push(is_list);
        self.expected = if is_list {
            Expected::ValueOrEnd
        } else {
            Expected::KeyOrEnd
        };
        Ok(())
    }

    fn end_text(&mut self, is_key: bool) {
        if !is_key {
            self.expected = Expected::CommaOrEnd;
            return;
        }
        self.expected = Expected::Colon;
        self.key_kind = match self.text.as_bytes().get(self.key..self.at) {
            Some(b"steps") => PlanKey::Steps,
            Some(b"plan") => PlanKey::Plan,
            _ => PlanKey::Other,
        };
    }

    fn next(&mut self) -> Result<(), InvalidJson> {
        self.expected = match self.open.last() {
            Some(true) => Expected::Value,
            Some(false) => Expected::Key,
            None => return Err(InvalidJson),
        };
        Ok(())
    }

    fn close(&mut self, is_list: bool) -> Result<(), InvalidJson> {
        if self.open.pop() != Some(is_list) {
            return Err(InvalidJson);
        }
        let depth = self.open.len();
        self.expected = Expected::CommaOrEnd;
        if depth == 1 {
            // A `plan` object without steps is not the plan.
            self.starts[1] = self.starts[0];
        }
        match self.plan {
            Some((_, steps)) if depth == steps => self.ends.push(self.at + 1),
            // The list of steps has ended; later fields have no effect on an early run.
            Some((_, steps)) if depth < steps => self.is_finished = true,
            None if depth == 0 => self.expected = Expected::Prose,
            _ => {}
        }
        Ok(())
    }
}

fn text(is_key: bool) -> Expected {
    Expected::Text {
        is_key,
        is_escaped: false,
    }
}

fn is_scalar_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Incremental parser for a partial reply in one of the prompt dialects.
#[derive(Debug)]
pub(super) enum ReplyParser {
    Json(PlanReader),
    Lines(StreamingLineReader),
}

impl ReplyParser {
    /// Creates a parser for replies of at most `max_bytes` bytes.
    pub(super) fn new(dialect: PlanDialect, max_bytes: usize) -> Self {
        match dialect {
            PlanDialect::Json => Self::Json(PlanReader::new(max_bytes)),
            PlanDialect::Lines => Self::Lines(StreamingLineReader::new(max_bytes)),
        }
    }

    /// Consumes the next chunk and returns the number of steps it completes.
    pub(super) fn feed(&mut self, chunk: &str) -> usize {
        match self {
            Self::Json(reader) => reader.feed(chunk),
            Self::Lines(reader) => reader.feed(chunk),
        }
    }

    /// Returns the plan up to its last complete step.
    pub(super) fn beginning(&self) -> Option<String> {
        match self {
            Self::Json(reader) => reader.beginning(),
            Self::Lines(reader) => reader.beginning(),
        }
    }
}
