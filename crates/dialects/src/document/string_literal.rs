//! String literals of JSON, and the offsets of their decoded characters in the text.

use std::borrow::Cow;
use std::ops::Range;

use planwright_core::{Place, PointerSegment, SourceText, Span};

/// A quoted text.
pub(super) struct StringLiteral<'a> {
    /// The content, escapes resolved.
    pub(super) text: Cow<'a, str>,
    /// The byte after the closing quote, or the end of the text if there is none.
    pub(super) end: usize,
    /// True if the closing quote exists.
    pub(super) closed: bool,
}

/// A fault in a quoted text, with its bytes.
pub(super) enum StringFault {
    /// A control character that was not escaped.
    Control(usize, char),
    /// An escape that does not exist, from its backslash to its end.
    Escape(usize, usize),
    /// Half of a surrogate pair, from its backslash to its end.
    Surrogate(usize, usize),
}

/// Reads the quoted text that begins at byte `start` of `text`, after the opening `quote`.
///
/// Each fault goes to `report` and is replaced by the obvious character, so that reading can continue.
pub(super) fn read<'a>(
    text: &'a str,
    start: usize,
    quote: u8,
    report: &mut dyn FnMut(StringFault),
) -> StringLiteral<'a> {
    scan(text, start, quote, report, &mut |_, _| {})
}

/// The offsets of the quoted text that begins at byte `start`, after the opening quote.
pub(super) fn offset_runs(text: &str, start: usize) -> Vec<OffsetRun> {
    let mut offset_runs = vec![OffsetRun {
        inner: 0,
        outer: start,
    }];
    scan(text, start, b'"', &mut |_| {}, &mut |inner, outer| {
        offset_runs.push(OffsetRun { inner, outer });
    });
    offset_runs
}

fn scan<'a>(
    text: &'a str,
    start: usize,
    quote: u8,
    report: &mut dyn FnMut(StringFault),
    on_run: &mut dyn FnMut(usize, usize),
) -> StringLiteral<'a> {
    let bytes = text.as_bytes();
    let mut resolved: Option<String> = None;
    // The bytes from `copied` to `at` need no change and are copied at the next escape.
    let mut copied = start;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        if byte == quote {
            return finish(text, resolved, copied, at, at + 1, true);
        }
        match byte {
            b'\\' => {
                let buffer = resolved.get_or_insert_default();
                buffer.push_str(&text[copied..at]);
                let escape = Escape::read(text, at);
                on_run(buffer.len(), at);
                buffer.push(escape.character);
                if let Some(fault) = escape.fault {
                    report(fault);
                }
                at = escape.end;
                copied = at;
                on_run(buffer.len(), at);
            }
            0..=0x1f => {
                report(StringFault::Control(at, char::from(byte)));
                at += 1;
            }
            _ => at += 1,
        }
    }
    finish(text, resolved, copied, bytes.len(), bytes.len(), false)
}

fn finish(
    text: &str,
    resolved: Option<String>,
    copied: usize,
    until: usize,
    end: usize,
    closed: bool,
) -> StringLiteral<'_> {
    let rest = &text[copied..until];
    let text = match resolved {
        Some(mut buffer) => {
            buffer.push_str(rest);
            Cow::Owned(buffer)
        }
        None => Cow::Borrowed(rest),
    };
    StringLiteral { text, end, closed }
}

struct Escape {
    character: char,
    end: usize,
    fault: Option<StringFault>,
}

impl Escape {
    /// Reads the escape whose backslash stands at `at`.
    fn read(text: &str, at: usize) -> Self {
        let Some(letter) = text[at + 1..].chars().next() else {
            return Self::fault('\\', at + 1, StringFault::Escape(at, at + 1));
        };
        let end = at + 1 + letter.len_utf8();
        let character = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return Self::unicode(text, at),
            _ => return Self::fault(letter, end, StringFault::Escape(at, end)),
        };
        Self {
            character,
            end,
            fault: None,
        }
    }

    /// Reads the escape `\uXXXX` at `at`, and the second half of a surrogate pair.
    fn unicode(text: &str, at: usize) -> Self {
        let end = at + 6;
        let Some(first) = hexadecimal(text, at + 2) else {
            return Self::fault('u', at + 2, StringFault::Escape(at, at + 2));
        };
        if let Some(character) = char::from_u32(first) {
            return Self {
                character,
                end,
                fault: None,
            };
        }
        let second = match text.get(end..end + 2) {
            Some("\\u") if first < 0xdc00 => hexadecimal(text, end + 2),
            _ => None,
        };
        let pair = second
            .filter(|second| (0xdc00..0xe000).contains(second))
            .and_then(|second| {
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            });
        match pair {
            Some(character) => Self {
                character,
                end: end + 6,
                fault: None,
            },
            None => Self::fault(
                char::REPLACEMENT_CHARACTER,
                end,
                StringFault::Surrogate(at, end),
            ),
        }
    }

    fn fault(character: char, end: usize, fault: StringFault) -> Self {
        Self {
            character,
            end,
            fault: Some(fault),
        }
    }
}

fn hexadecimal(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// The map from the bytes of a text value to the place where each was written.
#[derive(Debug)]
pub struct Offsets {
    whole: Span,
    runs: Option<Vec<OffsetRun>>,
}

/// A run of bytes over which both sides advance byte by byte, up to the next run.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffsetRun {
    pub(super) inner: usize,
    pub(super) outer: usize,
}

impl Offsets {
    /// The offsets of the text value at `place`. If they cannot be known (a text inside of a text inside of a text),
    /// every byte maps to the whole value.
    pub fn of(source: &SourceText, place: Place) -> Self {
        let whole = source.span(place).unwrap_or_default();
        let runs = source
            .text()
            .get(whole.start..whole.end)
            .filter(|written| written.starts_with('"'))
            .map(|_| offset_runs(source.text(), whole.start + 1));
        Self { whole, runs }
    }

    /// The offsets of a text without escapes that is `length` bytes long and begins at byte `start` of the text around
    /// it.
    pub(crate) fn plain(start: usize, length: usize) -> Self {
        Self {
            whole: (start..start + length).into(),
            runs: Some(vec![OffsetRun {
                inner: 0,
                outer: start,
            }]),
        }
    }

    /// Adds a run: byte `inner` of the value is byte `outer` of the text around it.
    pub(crate) fn push_run(&mut self, inner: usize, outer: usize) {
        if let Some(runs) = &mut self.runs {
            runs.push(OffsetRun { inner, outer });
        }
    }

    /// The span of `range` of the value.
    pub fn span(&self, range: Range<usize>) -> Span {
        match &self.runs {
            Some(runs) => {
                let start = locate(runs, range.start);
                let end = locate(runs, range.end);
                Span {
                    start,
                    end: end.max(start),
                }
            }
            None => self.whole,
        }
    }

    /// Adds a place to `source` for `range` of the value at `place`; its pointer is that of the value.
    pub fn place(&self, source: &mut SourceText, place: Place, range: Range<usize>) -> Place {
        source.add(place, PointerSegment::Root, self.span(range))
    }
}

fn locate(runs: &[OffsetRun], inner: usize) -> usize {
    // Runs are sorted, so the last one that begins at or before the byte applies.
    let after = runs.partition_point(|push_run| push_run.inner <= inner);
    match runs[..after].last() {
        Some(push_run) => push_run.outer + (inner - push_run.inner),
        None => inner,
    }
}
