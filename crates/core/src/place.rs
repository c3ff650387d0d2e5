//! Source places: spans and JSON pointers, stored apart from the plan itself.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/plans.md#places-are-stored-apart-from-the-plan).

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::Hashing;

/// A position in a text. It is meaningful only together with the [`Sources`] of its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place(u32);

impl Place {
    /// The place of parts without source text, such as a plan built by a program.
    pub const NOWHERE: Place = Place(u32::MAX);
}

impl Default for Place {
    fn default() -> Self {
        Self::NOWHERE
    }
}

/// A range of a text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// A segment of a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PointerSegment {
    /// The whole text.
    Root,
    /// A field of an object.
    Key(Arc<str>),
    /// An item of a list.
    Index(usize),
}

/// The number of bytes in which a plan usually has one value. Capacity for places is reserved at once, since growing a long list is
/// slow.
const BYTES_OF_A_VALUE: usize = 32;

/// Maximum number of places for which capacity is reserved in advance.
const MAX_EXPECTED_PLACES: usize = 50_000;

/// The number of segments that a pointer usually has.
const SEGMENTS_OF_A_POINTER: usize = 8;

/// The number of bytes that a pointer usually has.
const BYTES_OF_A_POINTER: usize = 32;

#[derive(Clone, Debug)]
struct PlaceEntry {
    parent: Place,
    segment: PointerSegment,
    span: Span,
}

/// A text and the places in it. Parents are added before their children.
#[derive(Clone, Debug)]
pub struct SourceText {
    name: Arc<str>,
    text: Arc<str>,
    base: u32,
    entries: Vec<PlaceEntry>,
    /// The index from parent and segment to place, built on first use.
    parts: OnceLock<HashMap<(Place, PointerSegment), Place, Hashing>>,
}

impl SourceText {
    /// Creates a text called `name`. Its places are numbered from `base`, so that the texts of one plan do not share
    /// numbers.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>, base: u32) -> Self {
        let text = text.into();
        Self {
            name: name.into(),
            base,
            entries: Vec::with_capacity((text.len() / BYTES_OF_A_VALUE).min(MAX_EXPECTED_PLACES)),
            text,
            parts: OnceLock::new(),
        }
    }

    /// Returns the display name: a file name, `stdin`, or the name of a library plan.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the first number that another text may use as its base.
    pub fn next_base(&self) -> u32 {
        self.base
            .saturating_add(u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
    }

    /// Adds a place below `parent`.
    pub fn add(&mut self, parent: Place, segment: PointerSegment, span: Span) -> Place {
        let place = Place(self.next_base());
        // The index would lack the new place, so it is built again on next use.
        self.parts.take();
        self.entries.push(PlaceEntry {
            parent,
            segment,
            span,
        });
        place
    }

    /// Sets the span of a place that was added before its end was known.
    pub fn set_span(&mut self, place: Place, span: Span) {
        // A place of another text wraps around to an index that no entry has.
        let index = place.0.wrapping_sub(self.base) as usize;
        if let Some(entry) = self.entries.get_mut(index) {
            entry.span = span;
        }
    }

    fn entry(&self, place: Place) -> Option<&PlaceEntry> {
        let index = place.0.checked_sub(self.base)? as usize;
        self.entries.get(index)
    }

    /// Returns the span of `place`.
    pub fn span(&self, place: Place) -> Option<Span> {
        self.entry(place).map(|entry| entry.span)
    }

    /// Returns the JSON pointer (RFC 6901) of `place`.
    pub fn pointer(&self, place: Place) -> Option<String> {
        self.start_of_pointer(place, usize::MAX)
    }

    /// Returns the JSON pointer of `place`. If it has more than `max_bytes` bytes, returns a prefix that also has more than
    /// `max_bytes` bytes.
    pub(crate) fn start_of_pointer(&self, place: Place, max_bytes: usize) -> Option<String> {
        let mut segments = Vec::with_capacity(SEGMENTS_OF_A_POINTER);
        let mut at = self.entry(place)?;
        loop {
            segments.push(&at.segment);
            match self.entry(at.parent) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        let mut pointer = String::with_capacity(BYTES_OF_A_POINTER);
        // The segments were collected from the leaf up.
        for segment in segments.into_iter().rev() {
            if pointer.len() > max_bytes {
                break;
            }
            match segment {
                PointerSegment::Key(key) => {
                    // A key may be as long as the text, so only its beginning is copied.
                    push_pointer_key(&mut pointer, start_of(key, max_bytes));
                }
                segment @ (PointerSegment::Root | PointerSegment::Index(_)) => {
                    push_pointer_segment(&mut pointer, segment);
                }
            }
        }
        Some(pointer)
    }

    /// Returns the place of the part of `place` at `path`, or of its nearest ancestor that has one. The first call is
    /// linear in the size of the text, so it is meant for diagnostics only.
    pub fn descend(&self, place: Place, path: &[PointerSegment]) -> Place {
        let mut at = place;
        for segment in path {
            match self.parts().get(&(at, segment.clone())) {
                Some(part) => at = *part,
                None => break,
            }
        }
        at
    }

    fn parts(&self) -> &HashMap<(Place, PointerSegment), Place, Hashing> {
        self.parts.get_or_init(|| {
            let mut parts =
                HashMap::with_capacity_and_hasher(self.entries.len(), Hashing::default());
            for (number, entry) in (self.base..).zip(&self.entries) {
                let key = (entry.parent, entry.segment.clone());
                // Of a duplicate key the first place counts.
                parts.entry(key).or_insert(Place(number));
            }
            parts
        })
    }
}

/// Appends a segment to a JSON pointer, escaped as RFC 6901 requires.
pub fn push_pointer_segment(pointer: &mut String, segment: &PointerSegment) {
    match segment {
        PointerSegment::Root => {}
        PointerSegment::Key(key) => push_pointer_key(pointer, key),
        PointerSegment::Index(index) => {
            pointer.push('/');
            pointer.push_str(&index.to_string());
        }
    }
}

fn push_pointer_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Returns the longest prefix of `text` of at most `max_bytes` bytes that ends at a character boundary.
pub(crate) fn start_of(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes))
        .unwrap_or(text)
}

/// The texts of a plan: usually one, several for a plan that was extended.
#[derive(Clone, Default)]
pub struct Sources(Vec<Arc<SourceText>>);

impl Sources {
    /// Creates the sources of a plan with one text.
    pub fn one(source: SourceText) -> Self {
        Self(vec![Arc::new(source)])
    }

    /// Adds the texts of `other`.
    pub fn join(&mut self, other: &Sources) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Returns the first number that another text may use as its base.
    pub fn next_base(&self) -> u32 {
        self.0
            .iter()
            .map(|source| source.next_base())
            .max()
            .unwrap_or(0)
    }

    /// Returns the text that contains `place`.
    pub fn source_of(&self, place: Place) -> Option<&Arc<SourceText>> {
        self.0.iter().find(|source| source.entry(place).is_some())
    }

    /// Returns the span of `place`.
    pub fn span(&self, place: Place) -> Option<Span> {
        self.source_of(place)?.span(place)
    }

    /// Returns the JSON pointer of `place`.
    pub fn pointer(&self, place: Place) -> Option<String> {
        self.source_of(place)?.pointer(place)
    }

    /// Returns the place of a part; see [`SourceText::descend`].
    pub fn descend(&self, place: Place, path: &[PointerSegment]) -> Place {
        self.source_of(place)
            .map_or(place, |source| source.descend(place, path))
    }

    /// Iterates over the texts, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SourceText>> {
        self.0.iter()
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|source| &source.name))
            .finish()
    }
}
