//! The entry points of the reader: bytes in, a document and diagnostics out.

use std::borrow::Cow;
use std::ops::Range;

use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, PointerSegment, SourceText, Span, TextEdit,
};

use super::json_reader::{JsonReader, PartStart};
use super::leniency::{Leniencies, Leniency};
use super::{
    DiagnosticSink, Document, Item, ItemKind, Offsets, REDUCE_SIZE, ReadLimits, Syntax, scalar,
};

/// Reads a JSON text called `name`, whose places are numbered from `base` on.
///
/// Beyond RFC 8259 it accepts comments (`//` and `/* */`), trailing commas, and a byte order mark; and, with a note, texts
/// in single quotes, keys without quotes, `True`, `False` and `None`, comments after `#`. Problems inside of a value (a duplicate key, an unknown escape, a number that does not fit into 64 bits) leave the document readable, so
/// that a dialect can add its own diagnostics; structural problems do not. In both cases the diagnostics hold errors,
/// and the result must not be run.
pub fn read(
    text: impl AsRef<[u8]>,
    name: &str,
    base: u32,
    limits: &ReadLimits,
) -> (Option<Document>, Diagnostics) {
    read_part(text, None, (name, base), limits)
}

/// Reads the JSON in the bytes `part` of a text called `name`, or in all of it. The rest of the text is ignored.
pub(crate) fn read_part(
    text: impl AsRef<[u8]>,
    part: Option<Range<usize>>,
    (name, base): (&str, u32),
    limits: &ReadLimits,
) -> (Option<Document>, Diagnostics) {
    let mut source = match source(text.as_ref(), name, base, limits) {
        Ok(source) => source,
        Err(diagnostics) => return (None, diagnostics),
    };
    let text = source.text().clone();
    let part = part.unwrap_or(0..text.len());
    let mut reader = JsonReader::new(&text[..part.end], &mut source, limits, None);
    reader.at = part.start;
    let (root, diagnostics) = reader.read(Place::NOWHERE, PointerSegment::Root);
    let document = root.map(|root| Document {
        syntax: Syntax::Json,
        root,
        source,
        limits: *limits,
    });
    (document, diagnostics)
}

/// Reads a text in lines; the only value of the document is the text itself.
pub fn read_lines(
    text: impl AsRef<[u8]>,
    name: &str,
    base: u32,
    limits: &ReadLimits,
) -> (Option<Document>, Diagnostics) {
    let mut source = match source(text.as_ref(), name, base, limits) {
        Ok(source) => source,
        Err(diagnostics) => return (None, diagnostics),
    };
    let text = source.text().clone();
    let span = Span {
        start: 0,
        end: text.len(),
    };
    let place = source.add(Place::NOWHERE, PointerSegment::Root, span);
    let document = Document {
        syntax: Syntax::Lines,
        root: Item {
            kind: ItemKind::Text(text),
            place,
        },
        source,
        limits: *limits,
    };
    (Some(document), Diagnostics::new())
}

fn source(
    bytes: &[u8],
    name: &str,
    base: u32,
    limits: &ReadLimits,
) -> Result<SourceText, Diagnostics> {
    // The size comes first: a text that is too large is not even validated as UTF-8.
    if bytes.len() > limits.bytes {
        return Err(too_large(limits));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(SourceText::new(name, text, base)),
        Err(error) => Err(not_utf8(bytes, error.valid_up_to())),
    }
}

/// Reads the JSON in the string `item` of `source`. The places of the inner values are added to `source`: their pointers
/// continue that of `item`, their spans lie in the outer text. Returns `None` if `item` is not a string.
pub fn read_inside(
    source: &mut SourceText,
    item: &Item,
    limits: &ReadLimits,
) -> (Option<Item>, Diagnostics) {
    let Some(text) = item.as_text() else {
        return (None, Diagnostics::new());
    };
    let offsets = Offsets::of(source, item.place);
    let reader = JsonReader::new(text, source, limits, Some(&offsets));
    reader.read(item.place, PointerSegment::Root)
}

/// A reader of the values in a text in lines, where `${…}` needs no quotes. One limit holds for all values of the text.
#[derive(Debug)]
pub(crate) struct LineValueReader {
    limits: ReadLimits,
    count: usize,
    leniencies: Leniencies,
}

impl LineValueReader {
    /// Creates a reader for one text.
    pub(crate) fn new(limits: ReadLimits) -> Self {
        Self {
            limits,
            count: 0,
            leniencies: Leniencies::default(),
        }
    }

    /// Counts values that are not written as JSON; returns false if the limit is exceeded.
    pub(crate) fn count(&mut self, values: usize) -> bool {
        self.count += values;
        self.count <= self.limits.values
    }

    /// Takes note of a semicolon at byte `at`, after a value.
    pub(crate) fn take_semicolon(&mut self, at: usize) {
        let edit = TextEdit::new(at..at + 1, "");
        self.leniencies.add(Leniency::Semicolon, edit);
    }

    /// The note about the syntax of other languages in the values so far, and the position of the first occurrence.
    pub(crate) fn note(&self) -> Option<(Diagnostic, usize)> {
        self.leniencies.note()
    }

    /// Returns true if the limit is exceeded, which has been reported.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.count > self.limits.values
    }

    /// Reads the value that begins at byte `at` of `text`, a prefix of the text of `source`, as the part `segment` of
    /// `parent` and inside of `outer_depth` lists and objects. Returns the value, if it is readable, and its end.
    pub(crate) fn read(
        &mut self,
        (text, at): (&str, usize),
        (parent, segment): (Place, PointerSegment),
        outer_depth: usize,
        (source, sink): (&mut SourceText, &mut DiagnosticSink),
    ) -> Option<(Item, usize)> {
        let reader = JsonReader::new(text, source, &self.limits, None);
        // The count passes through the reader, because one limit holds for all values of the text.
        let values = self.count;
        let part = PartStart {
            at,
            values,
            outer_depth,
        };
        let read = reader.read_part(parent, segment, part);
        self.count = read.values;
        self.leniencies.extend(read.leniencies);
        sink.extend(read.diagnostics);
        read.item.map(|item| (item, read.end))
    }
}

/// The quoted text that `text` begins with, and its length; `None` if it is malformed.
pub(crate) fn quoted_prefix(text: &str) -> Option<(Cow<'_, str>, usize)> {
    if !text.starts_with('"') {
        return None;
    }
    let mut is_valid = true;
    let string_literal = scalar::read(text, 1, b'"', &mut |_| is_valid = false);
    (string_literal.closed && is_valid).then_some((string_literal.text, string_literal.end))
}

fn too_large(limits: &ReadLimits) -> Diagnostics {
    let message = format!("the text has more than the allowed {} bytes", limits.bytes);
    [Diagnostic::error(Code::TooLarge, message).help(REDUCE_SIZE)]
        .into_iter()
        .collect()
}

fn not_utf8(bytes: &[u8], at: usize) -> Diagnostics {
    let byte = bytes.get(at).copied().unwrap_or_default();
    let message = format!("the byte `0x{byte:02x}` at position {at} is not UTF-8");
    let help = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the text seems to be UTF-16: save it as UTF-8",
        _ => "save the text as UTF-8",
    };
    [Diagnostic::error(Code::NotUtf8, message)
        .at_span("", at..at)
        .help(help)]
    .into_iter()
    .collect()
}
