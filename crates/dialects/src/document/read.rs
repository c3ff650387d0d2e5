//! The front door of the reader: bytes in, a document or findings out.

use std::borrow::Cow;

use planwright_core::{Code, Diagnostic, Diagnostics, Place, PointerSegment, Source, Span};

use super::reader::{JsonReader, PartStart};
use super::{
    Document, Findings, Item, ItemKind, Limits, Offsets, REDUCE_SIZE, Syntax, string_literal,
};

/// Reads one JSON text called `name`, whose places are numbered from `base` on.
///
/// Beyond RFC 8259 it takes comments (`//` and `/* */`), commas before a closing bracket, and a byte order
/// mark. Faults inside of a value (a key that stands twice, an escape that stands for nothing, a number that
/// 64 bits cannot keep) leave the document readable, so that a dialect can add its own findings; faults of
/// the structure do not. Either way the findings hold errors, and what was read must not be run.
pub fn read(
    text: impl AsRef<[u8]>,
    name: &str,
    base: u32,
    limits: &Limits,
) -> (Option<Document>, Diagnostics) {
    let mut source = match source(text.as_ref(), name, base, limits) {
        Ok(source) => source,
        Err(diagnostics) => return (None, diagnostics),
    };
    let text = source.text().clone();
    let reader = JsonReader::new(&text, &mut source, limits, None);
    let (root, diagnostics) = reader.read(Place::NOWHERE, PointerSegment::Root);
    let document = root.map(|root| Document {
        syntax: Syntax::Json,
        root,
        source,
        limits: *limits,
    });
    (document, diagnostics)
}

/// Reads a text that is made of lines, under the same name and within the same bounds: its one value is the text.
pub fn read_lines(
    text: impl AsRef<[u8]>,
    name: &str,
    base: u32,
    limits: &Limits,
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

fn source(bytes: &[u8], name: &str, base: u32, limits: &Limits) -> Result<Source, Diagnostics> {
    if bytes.len() > limits.bytes {
        return Err(too_large(limits));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(name, text, base)),
        Err(error) => Err(not_utf8(bytes, error.valid_up_to())),
    }
}

/// Reads the JSON that stands inside of `item`, a text of `source`. Its places join `source`: their pointers
/// continue that of `item`, their spans lie in the outer text. Nothing where `item` is no text.
pub fn read_inside(
    source: &mut Source,
    item: &Item,
    limits: &Limits,
) -> (Option<Item>, Diagnostics) {
    let Some(text) = item.as_text() else {
        return (None, Diagnostics::new());
    };
    let offsets = Offsets::of(source, item.place);
    let reader = JsonReader::new(text, source, limits, Some(&offsets));
    reader.read(item.place, PointerSegment::Root)
}

/// Reads the values that stand in a text in lines, in each of which `${…}` may stand without quotes.
#[derive(Debug)]
pub(crate) struct LineValueReader {
    limits: Limits,
    read: usize,
}

impl LineValueReader {
    /// Within `limits`, for all of them together.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, read: 0 }
    }

    /// Counts values that are written in another way than JSON; `false` where that is more than are allowed.
    pub(crate) fn count(&mut self, values: usize) -> bool {
        self.read += values;
        self.read <= self.limits.values
    }

    /// Whether more values were met than are allowed, which is among the findings.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.read > self.limits.values
    }

    /// Reads the value that begins at byte `at` of `text`, which is the beginning of that of `source`. It becomes the part `segment` of
    /// `parent` and has `around` lists and objects around it. The value, where it makes sense, and where it ends.
    pub(crate) fn read(
        &mut self,
        (text, at): (&str, usize),
        (parent, segment): (Place, PointerSegment),
        outer_depth: usize,
        (source, sink): (&mut Source, &mut Findings),
    ) -> Option<(Item, usize)> {
        let reader = JsonReader::new(text, source, &self.limits, None);
        let values = self.read;
        let part = PartStart {
            at,
            values,
            outer_depth,
        };
        let read = reader.read_part(parent, segment, part);
        self.read = read.values;
        sink.extend(read.diagnostics);
        read.item.map(|item| (item, read.end))
    }
}

/// The text in quotes that `text` begins with, and its length; nothing where something is wrong with it.
pub(crate) fn quoted_prefix(text: &str) -> Option<(Cow<'_, str>, usize)> {
    if !text.starts_with('"') {
        return None;
    }
    let mut is_sound = true;
    let string_literal = string_literal::read(text, 1, b'"', &mut |_| is_sound = false);
    (string_literal.closed && is_sound).then_some((string_literal.text, string_literal.end))
}

fn too_large(limits: &Limits) -> Diagnostics {
    let message = format!(
        "the text has more than the {} bytes that are allowed",
        limits.bytes
    );
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
