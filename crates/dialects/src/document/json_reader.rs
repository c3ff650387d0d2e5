//! The JSON reader: one pass over the text with an explicit stack instead of recursion.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::{Code, Diagnostics, Place, PointerSegment, SourceText, Span};

use super::leniency::{Leniencies, Leniency};
use super::syntax_errors::joined_fields;
use super::{Item, ItemEntry, ItemKind, Offsets, REDUCE_SIZE, ReadLimits, Syntax};

/// Maximum number of fields whose duplicate keys are found by comparing all pairs: cheaper than hashing for small
/// objects.
const MAX_LINEAR_FIELDS: usize = 12;

/// A reader of one value of a text.
pub(super) struct JsonReader<'a> {
    pub(super) syntax: Syntax,
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) source: &'a mut SourceText,
    pub(super) offsets: Option<&'a Offsets>,
    pub(super) limits: &'a ReadLimits,
    pub(super) values: usize,
    /// The number of lists and objects around the value.
    pub(super) outer_depth: usize,
    pub(super) diagnostics: Diagnostics,
    pub(super) suppressed: usize,
    /// True if a structural error was found, so that the value is discarded.
    pub(super) is_broken: bool,
    /// The text ends inside of a value.
    pub(super) is_cut: bool,
    /// The notations of other languages that were read.
    pub(super) leniencies: Leniencies,
}

/// The start of a value inside of a larger text.
pub(super) struct PartStart {
    /// The byte at which the value begins.
    pub(super) at: usize,
    /// The number of values read before it.
    pub(super) values: usize,
    /// The number of lists and objects around it.
    pub(super) outer_depth: usize,
}

/// The result of reading such a value.
pub(super) struct ReadPart {
    pub(super) item: Option<Item>,
    /// The byte after the last one read.
    pub(super) end: usize,
    /// The number of values read so far.
    pub(super) values: usize,
    pub(super) diagnostics: Diagnostics,
    pub(super) leniencies: Leniencies,
}

/// Reading cannot continue; the reason is among the diagnostics.
pub(super) struct Unrecoverable;

impl<'a> JsonReader<'a> {
    pub(super) fn new(
        text: &'a str,
        source: &'a mut SourceText,
        limits: &'a ReadLimits,
        offsets: Option<&'a Offsets>,
    ) -> Self {
        Self {
            syntax: Syntax::Json,
            text,
            at: 0,
            source,
            offsets,
            limits,
            values: 0,
            outer_depth: 0,
            diagnostics: Diagnostics::new(),
            suppressed: 0,
            is_broken: false,
            is_cut: false,
            leniencies: Leniencies::default(),
        }
    }

    /// Reads the only value of the text as the part `segment` of `parent`.
    pub(super) fn read(
        mut self,
        parent: Place,
        segment: PointerSegment,
    ) -> (Option<Item>, Diagnostics) {
        // The meaning of a value may change when its structure is repaired, so only its diagnostics are returned.
        let root = self.whole(parent, segment).ok();
        if root.is_some() {
            self.report_leniencies();
        }
        let diagnostics = self.take_diagnostics();
        (root.filter(|_| !self.is_broken), diagnostics)
    }

    /// Reads the value that begins at byte `part.at` in the syntax of lines; the text may continue after it.
    pub(super) fn read_part(
        mut self,
        parent: Place,
        segment: PointerSegment,
        part: PartStart,
    ) -> ReadPart {
        self.syntax = Syntax::Lines;
        self.at = part.at;
        self.values = part.values;
        self.outer_depth = part.outer_depth;
        let item = self.value_tree(parent, segment).ok();
        ReadPart {
            item,
            end: self.at,
            values: self.values,
            diagnostics: self.take_diagnostics(),
            leniencies: self.leniencies,
        }
    }

    fn whole(&mut self, parent: Place, segment: PointerSegment) -> Result<Item, Unrecoverable> {
        if self.at == 0 && self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        self.skip_blanks(parent)?;
        self.expect_json(parent)?;
        let root = self.value_tree(parent, segment)?;
        self.skip_blanks(parent)?;
        if self.is_json_alone() && self.peek() == Some(b';') {
            self.read_leniently(Leniency::Semicolon, (self.at, self.at + 1), "");
            self.at += 1;
            self.skip_blanks(parent)?;
        }
        if self.at < self.text.len() {
            self.report_trailing_text(root.place);
        }
        Ok(root)
    }

    // An explicit stack instead of recursion: the nesting of a hostile text must not exhaust the stack.
    fn value_tree(
        &mut self,
        parent: Place,
        segment: PointerSegment,
    ) -> Result<Item, Unrecoverable> {
        let mut stack: Vec<OpenContainer> = Vec::new();
        let mut next = Expected::Value;
        let mut root_segment = Some(segment);
        loop {
            // Errors between values belong to the innermost open container.
            let holder = stack.last().map_or(parent, |open| open.place);
            self.skip_blanks(holder)?;
            let finished = match next {
                Expected::Value | Expected::ItemOrEnd => match self.peek() {
                    Some(b']') if matches!(next, Expected::ItemOrEnd) => stack.pop(),
                    Some(b',') if matches!(next, Expected::ItemOrEnd) => {
                        self.report_missing_value(holder);
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
                    None if !stack.is_empty() => {
                        self.report_unclosed(&stack);
                        return self.cut_off(stack);
                    }
                    _ => {
                        let segment = next_segment(stack.last(), &mut root_segment);
                        let item = match self.scalar(holder, segment) {
                            Ok(item) => item,
                            Err(Unrecoverable) if self.is_cut => return self.cut_off(stack),
                            Err(reason) => return Err(reason),
                        };
                        match attach(&mut stack, item) {
                            Some(root) => return Ok(root),
                            None => next = Expected::CommaOrEnd,
                        }
                        continue;
                    }
                },
                Expected::KeyOrEnd => match self.peek() {
                    Some(b'}') => stack.pop(),
                    None => {
                        self.report_unclosed(&stack);
                        return self.cut_off(stack);
                    }
                    Some(b',') => {
                        self.report_leading_comma(holder);
                        self.at += 1;
                        continue;
                    }
                    Some(_) => {
                        let key = self.key(holder)?;
                        if let Some(OpenContainer {
                            kind: ContainerKind::Object { key: slot, .. },
                            ..
                        }) = stack.last_mut()
                        {
                            *slot = Some(key);
                        }
                        next = Expected::Value;
                        continue;
                    }
                },
                Expected::CommaOrEnd if self.peek().is_none() && !stack.is_empty() => {
                    self.report_unclosed(&stack);
                    return self.cut_off(stack);
                }
                Expected::CommaOrEnd => match self.after_value(&stack)? {
                    AfterValue::Closed => stack.pop(),
                    AfterValue::More(then) => {
                        next = then;
                        continue;
                    }
                },
            };
            let Some(open) = finished else {
                return Err(Unrecoverable);
            };
            self.at += 1;
            let item = self.close(open);
            match attach(&mut stack, item) {
                Some(root) => return Ok(root),
                None => next = Expected::CommaOrEnd,
            }
        }
    }

    fn open(
        &mut self,
        opening: u8,
        parent: Place,
        segment: PointerSegment,
        depth: usize,
    ) -> Result<OpenContainer, Unrecoverable> {
        let start = self.at;
        let place = self.add_place(parent, segment)?;
        if self.outer_depth + depth >= self.limits.effective_depth() {
            return Err(self.report_too_deep(place, start));
        }
        self.at += 1;
        let kind = if opening == b'[' {
            ContainerKind::List(Vec::new())
        } else {
            ContainerKind::Object {
                entries: Vec::new(),
                key: None,
            }
        };
        Ok(OpenContainer { place, start, kind })
    }

    /// The value of a text that ends inside of `stack`, without the objects that are not complete: only their absence is certain.
    fn cut_off(&mut self, mut stack: Vec<OpenContainer>) -> Result<Item, Unrecoverable> {
        if !self.is_json_alone() {
            self.is_broken = true;
            return Err(Unrecoverable);
        }
        let mut has_complete_items = true;
        while let Some(open) = stack.pop() {
            let is_list = matches!(open.kind, ContainerKind::List(_));
            let item = self.close(open);
            has_complete_items = item
                .as_list()
                .map_or(has_complete_items, |items| !items.is_empty());
            // A list without a complete item must not be reported as an empty one.
            if stack.is_empty() && has_complete_items {
                return Ok(item);
            }
            if is_list {
                attach(&mut stack, item);
            }
        }
        self.is_broken = true;
        Err(Unrecoverable)
    }

    fn close(&mut self, open: OpenContainer) -> Item {
        // The place was added at the opening bracket, so that containers are numbered before their items; its end is only known
        // here.
        let span = self.span(open.start, self.at);
        self.source.set_span(open.place, span);
        let kind = match open.kind {
            ContainerKind::List(items) => ItemKind::List(items),
            ContainerKind::Object { mut entries, .. } => {
                self.check_duplicates(open.place, &mut entries);
                ItemKind::Object(entries)
            }
        };
        Item {
            kind,
            place: open.place,
        }
    }

    /// Reports the keys that occur twice. The later one counts; two objects with different fields become one.
    fn check_duplicates(&mut self, place: Place, entries: &mut [ItemEntry]) {
        let mut repeated = Vec::new();
        if entries.len() <= MAX_LINEAR_FIELDS {
            for (index, entry) in entries.iter().enumerate() {
                let before = &entries[..index];
                let first = before.iter().position(|other| other.key == entry.key);
                repeated.extend(first.map(|first| (first, index)));
            }
        } else {
            let mut seen: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
            for (index, entry) in entries.iter().enumerate() {
                match seen.get(&*entry.key) {
                    Some(first) => repeated.push((*first, index)),
                    None => {
                        seen.insert(&entry.key, index);
                    }
                }
            }
        }
        for (first, again) in repeated {
            self.report_duplicate_key(place, entries, (first, again));
            let (before, after) = entries.split_at_mut(again);
            if let (Some(first), Some(again)) = (before.get(first), after.first_mut())
                && let Some(fields) = joined_fields(&first.item, &again.item)
            {
                again.item.kind = ItemKind::Object(fields);
            }
        }
    }

    /// Reads the comma or the closing bracket after a value.
    fn after_value(&mut self, stack: &[OpenContainer]) -> Result<AfterValue, Unrecoverable> {
        let Some(open) = stack.last() else {
            return Err(Unrecoverable);
        };
        let (end, then) = match open.kind {
            ContainerKind::List(_) => (b']', Expected::ItemOrEnd),
            ContainerKind::Object { .. } => (b'}', Expected::KeyOrEnd),
        };
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(AfterValue::More(then))
            }
            Some(byte) if byte == end => Ok(AfterValue::Closed),
            None => Err(Unrecoverable),
            Some(byte) => {
                self.report_missing_comma(open, byte, char::from(end))?;
                Ok(AfterValue::More(then))
            }
        }
    }

    /// Skips blanks and comments.
    pub(super) fn skip_blanks(&mut self, holder: Place) -> Result<(), Unrecoverable> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.syntax == Syntax::Json => self.skip_comment(holder)?,
                Some(b'#') if self.is_lenient() => {
                    if self.syntax == Syntax::Json {
                        self.read_leniently(Leniency::HashComment, (self.at, self.at + 1), "//");
                    }
                    self.at = self.end_of_line();
                }
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self, holder: Place) -> Result<(), Unrecoverable> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map(|end| end + 4)
        } else {
            return Err(self.report_unexpected_character(holder));
        };
        match length {
            Some(length) => {
                self.at += length;
                Ok(())
            }
            None => Err(self.report_unclosed_comment(holder)),
        }
    }

    fn end_of_line(&self) -> usize {
        let rest = &self.text[self.at..];
        self.at + rest.find('\n').unwrap_or(rest.len())
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn add_place(
        &mut self,
        parent: Place,
        segment: PointerSegment,
    ) -> Result<Place, Unrecoverable> {
        self.values += 1;
        let place = self
            .source
            .add(parent, segment, self.span(self.at, self.at));
        if self.values > self.limits.values {
            let message = format!(
                "the text has more than the {} values that are allowed",
                self.limits.values
            );
            let help = Some(REDUCE_SIZE.to_owned());
            self.report_error(Code::TooLarge, place, self.at, self.at, message, help);
            return Err(Unrecoverable);
        }
        Ok(place)
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        match self.offsets {
            Some(offsets) => offsets.span(start..end),
            None => Span { start, end },
        }
    }
}

enum AfterValue {
    Closed,
    More(Expected),
}

/// A list or object that is not closed yet.
pub(super) struct OpenContainer {
    pub(super) place: Place,
    pub(super) start: usize,
    pub(super) kind: ContainerKind,
}

pub(super) enum ContainerKind {
    List(Vec<Item>),
    Object {
        entries: Vec<ItemEntry>,
        key: Option<(Arc<str>, Span)>,
    },
}

/// The tokens that may come next.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    Value,
    ItemOrEnd,
    KeyOrEnd,
    CommaOrEnd,
}

impl ContainerKind {
    /// The token after the opening bracket.
    pub(super) fn first(&self) -> Expected {
        match self {
            Self::List(_) => Expected::ItemOrEnd,
            Self::Object { .. } => Expected::KeyOrEnd,
        }
    }

    /// The last value so far.
    pub(super) fn last(&self) -> Option<&Item> {
        match self {
            Self::List(items) => items.last(),
            Self::Object { entries, .. } => entries.last().map(|entry| &entry.item),
        }
    }

    /// The name of the container in messages, and its closing bracket.
    pub(super) fn name_and_end(&self) -> (&'static str, char) {
        match self {
            Self::List(_) => ("the list", ']'),
            Self::Object { .. } => ("the object", '}'),
        }
    }
}

/// The segment of the next value inside of the innermost open container.
fn next_segment(open: Option<&OpenContainer>, root: &mut Option<PointerSegment>) -> PointerSegment {
    match open.map(|open| &open.kind) {
        Some(ContainerKind::List(items)) => PointerSegment::Index(items.len()),
        Some(ContainerKind::Object { key, .. }) => {
            key.as_ref().map_or(PointerSegment::Root, |(key, _)| {
                PointerSegment::Key(Arc::clone(key))
            })
        }
        None => root.take().unwrap_or(PointerSegment::Root),
    }
}

/// Adds a finished value to the innermost open container, or returns it if it is the root.
fn attach(stack: &mut [OpenContainer], item: Item) -> Option<Item> {
    match stack.last_mut().map(|open| &mut open.kind) {
        None => Some(item),
        Some(ContainerKind::List(items)) => {
            items.push(item);
            None
        }
        Some(ContainerKind::Object { entries, key }) => {
            if let Some((key, key_span)) = key.take() {
                entries.push(ItemEntry {
                    key,
                    key_span,
                    item,
                });
            }
            None
        }
    }
}
