//! The reader itself: one pass over the text, a stack of its own, no recursion.

mod complaint;
mod scalar;

pub(crate) use complaint::GIVE_JSON;

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::{Code, Diagnostics, Place, PointerSegment, Source, Span};

use super::{Entry, Item, ItemKind, Limits, Offsets, TAKE_LESS};

/// Objects with at most this many fields are searched for duplicate keys by comparing all with all.
const FEW_FIELDS: usize = 12;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// As JSON.
    Json,
    /// As JSON in a text in lines: `${…}` may stand without quotes, a text may go on over lines, and a comment begins with `#`.
    Lines,
}

/// Reads one value from one text.
pub(super) struct Reader<'a> {
    manner: Manner,
    text: &'a str,
    at: usize,
    source: &'a mut Source,
    offsets: Option<&'a Offsets>,
    limits: &'a Limits,
    values: usize,
    /// How many lists and objects are around the value.
    around: usize,
    diagnostics: Diagnostics,
    unshown: usize,
    /// Whether the structure had to be mended: such a value is never handed on.
    broken: bool,
}

/// A value that stands somewhere in a text.
pub(super) struct Part {
    /// Where it begins.
    pub(super) at: usize,
    /// How many values were read before it.
    pub(super) values: usize,
    /// How many lists and objects are around it.
    pub(super) around: usize,
}

/// What became of it.
pub(super) struct Read {
    pub(super) item: Option<Item>,
    /// Up to where it was read.
    pub(super) end: usize,
    /// How many values were read by now.
    pub(super) values: usize,
    pub(super) diagnostics: Diagnostics,
}

/// A list or object that is not closed yet.
struct Open {
    place: Place,
    start: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Item>),
    Object {
        entries: Vec<Entry>,
        key: Option<(Arc<str>, Span)>,
    },
}

/// What may come next.
#[derive(Clone, Copy)]
enum Next {
    Value,
    ItemOrEnd,
    KeyOrEnd,
    CommaOrEnd,
}

/// The text cannot be understood any further; the reason is among the findings.
struct Lost;

impl<'a> Reader<'a> {
    pub(super) fn new(
        text: &'a str,
        source: &'a mut Source,
        limits: &'a Limits,
        offsets: Option<&'a Offsets>,
    ) -> Self {
        Self {
            manner: Manner::Json,
            text,
            at: 0,
            source,
            offsets,
            limits,
            values: 0,
            around: 0,
            diagnostics: Diagnostics::new(),
            unshown: 0,
            broken: false,
        }
    }

    /// Reads the one value of the text; it becomes the part `segment` of `parent`.
    pub(super) fn read(
        mut self,
        parent: Place,
        segment: PointerSegment,
    ) -> (Option<Item>, Diagnostics) {
        let root = self.whole(parent, segment).ok();
        let diagnostics = self.take_diagnostics();
        (root.filter(|_| !self.broken), diagnostics)
    }

    /// Reads the value that begins at byte `part.at`, in the manner of lines, however much follows it.
    pub(super) fn read_part(mut self, parent: Place, segment: PointerSegment, part: Part) -> Read {
        self.manner = Manner::Lines;
        self.at = part.at;
        self.values = part.values;
        self.around = part.around;
        let item = self.value_tree(parent, segment).ok();
        Read {
            item,
            end: self.at,
            values: self.values,
            diagnostics: self.take_diagnostics(),
        }
    }

    fn whole(&mut self, parent: Place, segment: PointerSegment) -> Result<Item, Lost> {
        if self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        self.skip_blanks(parent)?;
        self.expect_json(parent)?;
        let root = self.value_tree(parent, segment)?;
        self.skip_blanks(parent)?;
        if self.at < self.text.len() {
            self.complain_about_rest(root.place);
        }
        Ok(root)
    }

    fn value_tree(&mut self, parent: Place, segment: PointerSegment) -> Result<Item, Lost> {
        let mut stack: Vec<Open> = Vec::new();
        let mut next = Next::Value;
        let mut root_segment = Some(segment);
        loop {
            let holder = stack.last().map_or(parent, |open| open.place);
            self.skip_blanks(holder)?;
            let finished = match next {
                Next::Value | Next::ItemOrEnd => match self.peek() {
                    Some(b']') if matches!(next, Next::ItemOrEnd) => stack.pop(),
                    Some(b',') if matches!(next, Next::ItemOrEnd) => {
                        self.complain_about_missing_value(holder);
                        self.at += 1;
                        continue;
                    }
                    Some(opening @ (b'{' | b'[')) => {
                        let segment = next_segment(stack.last(), &mut root_segment);
                        let open = self.open(opening, holder, segment, stack.len())?;
                        next = open.kind.first();
                        stack.push(open);
                        continue;
                    }
                    None if !stack.is_empty() => return Err(self.complain_about_open(&stack)),
                    _ => {
                        let segment = next_segment(stack.last(), &mut root_segment);
                        let item = self.scalar(holder, segment)?;
                        match attach(&mut stack, item) {
                            Some(root) => return Ok(root),
                            None => next = Next::CommaOrEnd,
                        }
                        continue;
                    }
                },
                Next::KeyOrEnd => match self.peek() {
                    Some(b'}') => stack.pop(),
                    None => return Err(self.complain_about_open(&stack)),
                    Some(b',') => {
                        self.complain_about_missing_key(holder);
                        self.at += 1;
                        continue;
                    }
                    Some(_) => {
                        let key = self.key(holder)?;
                        if let Some(Open {
                            kind: OpenKind::Object { key: slot, .. },
                            ..
                        }) = stack.last_mut()
                        {
                            *slot = Some(key);
                        }
                        next = Next::Value;
                        continue;
                    }
                },
                Next::CommaOrEnd => match self.after_value(&stack)? {
                    After::Closed => stack.pop(),
                    After::More(then) => {
                        next = then;
                        continue;
                    }
                },
            };
            let Some(open) = finished else {
                return Err(Lost);
            };
            self.at += 1;
            let item = self.close(open);
            match attach(&mut stack, item) {
                Some(root) => return Ok(root),
                None => next = Next::CommaOrEnd,
            }
        }
    }

    fn open(
        &mut self,
        opening: u8,
        parent: Place,
        segment: PointerSegment,
        depth: usize,
    ) -> Result<Open, Lost> {
        let start = self.at;
        let place = self.add_place(parent, segment)?;
        if self.around + depth >= self.limits.depth_in_force() {
            return Err(self.complain_about_depth(place, start));
        }
        self.at += 1;
        let kind = if opening == b'[' {
            OpenKind::List(Vec::new())
        } else {
            OpenKind::Object {
                entries: Vec::new(),
                key: None,
            }
        };
        Ok(Open { place, start, kind })
    }

    fn close(&mut self, open: Open) -> Item {
        let span = self.span(open.start, self.at);
        self.source.set_span(open.place, span);
        let kind = match open.kind {
            OpenKind::List(items) => ItemKind::List(items),
            OpenKind::Object { entries, .. } => {
                self.check_duplicates(open.place, &entries);
                ItemKind::Object(entries)
            }
        };
        Item {
            kind,
            place: open.place,
        }
    }

    fn check_duplicates(&mut self, place: Place, entries: &[Entry]) {
        if entries.len() <= FEW_FIELDS {
            for (index, entry) in entries.iter().enumerate() {
                let first = entries[..index].iter().find(|other| other.key == entry.key);
                if let Some(first) = first {
                    self.complain_about_duplicate(place, first, entry);
                }
            }
            return;
        }
        let mut seen: HashMap<&str, &Entry> = HashMap::with_capacity(entries.len());
        for entry in entries {
            if let Some(first) = seen.get(&*entry.key) {
                self.complain_about_duplicate(place, first, entry);
            } else {
                seen.insert(&entry.key, entry);
            }
        }
    }

    /// After a value inside of a list or object: a comma, the end, or a complaint.
    fn after_value(&mut self, stack: &[Open]) -> Result<After, Lost> {
        let Some(open) = stack.last() else {
            return Err(Lost);
        };
        let (end, then) = match open.kind {
            OpenKind::List(_) => (b']', Next::ItemOrEnd),
            OpenKind::Object { .. } => (b'}', Next::KeyOrEnd),
        };
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(After::More(then))
            }
            Some(byte) if byte == end => Ok(After::Closed),
            None => Err(self.complain_about_open(stack)),
            Some(byte) => {
                self.complain_about_missing_comma(open, byte, char::from(end))?;
                Ok(After::More(then))
            }
        }
    }

    /// Skips blanks and comments.
    fn skip_blanks(&mut self, holder: Place) -> Result<(), Lost> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.manner == Manner::Json => self.skip_comment(holder)?,
                Some(b'#') if self.manner == Manner::Lines => self.at = self.end_of_line(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self, holder: Place) -> Result<(), Lost> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map(|end| end + 4)
        } else {
            return Err(self.complain_about_character(holder));
        };
        match length {
            Some(length) => {
                self.at += length;
                Ok(())
            }
            None => Err(self.complain_about_comment(holder)),
        }
    }

    fn end_of_line(&self) -> usize {
        let rest = &self.text[self.at..];
        self.at + rest.find('\n').unwrap_or(rest.len())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn add_place(&mut self, parent: Place, segment: PointerSegment) -> Result<Place, Lost> {
        self.values += 1;
        let place = self
            .source
            .add(parent, segment, self.span(self.at, self.at));
        if self.values > self.limits.values {
            let message = format!(
                "the text has more than the {} values that are allowed",
                self.limits.values
            );
            let help = Some(TAKE_LESS.to_owned());
            self.complain(Code::TooLarge, place, self.at, self.at, message, help);
            return Err(Lost);
        }
        Ok(place)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        match self.offsets {
            Some(offsets) => offsets.span(start..end),
            None => Span { start, end },
        }
    }
}

enum After {
    Closed,
    More(Next),
}

impl OpenKind {
    fn first(&self) -> Next {
        match self {
            Self::List(_) => Next::ItemOrEnd,
            Self::Object { .. } => Next::KeyOrEnd,
        }
    }
}

/// Which part of the innermost open value the next value is.
fn next_segment(open: Option<&Open>, root: &mut Option<PointerSegment>) -> PointerSegment {
    match open.map(|open| &open.kind) {
        Some(OpenKind::List(items)) => PointerSegment::Index(items.len()),
        Some(OpenKind::Object { key, .. }) => {
            key.as_ref().map_or(PointerSegment::Root, |(key, _)| {
                PointerSegment::Key(Arc::clone(key))
            })
        }
        None => root.take().unwrap_or(PointerSegment::Root),
    }
}

/// Puts a finished value where it belongs, or gives it back where it is the root.
fn attach(stack: &mut [Open], item: Item) -> Option<Item> {
    match stack.last_mut().map(|open| &mut open.kind) {
        None => Some(item),
        Some(OpenKind::List(items)) => {
            items.push(item);
            None
        }
        Some(OpenKind::Object { entries, key }) => {
            if let Some((key, key_span)) = key.take() {
                entries.push(Entry {
                    key,
                    key_span,
                    item,
                });
            }
            None
        }
    }
}
