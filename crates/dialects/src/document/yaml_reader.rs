//! A reader of YAML 1.2 that gives every value its place in the text, as the reader of JSON does. See
//! [the design](https://github.com/planwright/planwright/blob/main/docs/design/dialects.md#yaml-is-read-as-the-json-that-it-stands-for).
//!
//! Only what JSON has as well is read: objects with texts as keys, lists, texts, numbers, booleans and null of the core schema. Tags and
//! numbers that readers of YAML understand differently are errors, so that a plan has one meaning only.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, PointerSegment, SourceText, Span, TextEdit};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use super::yaml_scalar::plain_value;
use super::{Document, Item, ItemEntry, ItemKind, ReadLimits, Syntax, quote};

/// Returns true if `text` begins like blocks of YAML: with `key:`, `- ` or `---`, after comments.
fn begins_like_yaml(text: &str) -> bool {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(str::trim_end);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with('#')) else {
        return false;
    };
    if line == "---" || line == "-" || line.starts_with("- ") {
        return true;
    }
    let Some((key, rest)) = line.split_once(':') else {
        return false;
    };
    let key = key.trim_matches(['"', '\'']);
    let is_key = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    is_key && (rest.is_empty() || rest.starts_with(' '))
}

/// Returns the bytes of `text` that may be YAML: all of it, or the inside of its only fenced block.
pub(crate) fn yaml_part(text: &str) -> Option<Range<usize>> {
    let part = match text.split_once("```") {
        None => 0..text.len(),
        Some((before, rest)) => {
            let (tag, inside) = rest.split_once('\n')?;
            let start = before.len() + "```".len() + tag.len() + 1;
            let (inside, after) = inside.split_once("```").unwrap_or((inside, ""));
            if after.contains("```") {
                return None;
            }
            start..start + inside.len()
        }
    };
    begins_like_yaml(&text[part.clone()]).then_some(part)
}

/// Reads the YAML in the bytes `part` of `text`, whose places are numbered from `base` on.
///
/// # Errors
///
/// The first problem, with its place in the text. Reading cannot continue after it.
pub(crate) fn read_yaml(
    text: &str,
    part: Range<usize>,
    (name, base): (&str, u32),
    limits: &ReadLimits,
) -> Result<Document, Box<Diagnostic>> {
    read_with_holders(text, part, (name, base), limits).map(|(document, _)| document)
}

/// Reads YAML like [`read_yaml`], without the fields at the top that only hold anchors, whose keys are returned as well.
pub(crate) fn read_yaml_without_holders(
    text: &str,
    part: Range<usize>,
    spot: (&str, u32),
    limits: &ReadLimits,
) -> Result<(Document, Vec<Arc<str>>), Box<Diagnostic>> {
    let (mut document, holders) = read_with_holders(text, part, spot, limits)?;
    if let ItemKind::Object(entries) = &mut document.root.kind {
        entries.retain(|entry| !holders.contains(&entry.key));
    }
    Ok((document, holders))
}

/// Reads YAML, and finds the fields at the top that only hold anchors.
fn read_with_holders(
    text: &str,
    part: Range<usize>,
    (name, base): (&str, u32),
    limits: &ReadLimits,
) -> Result<(Document, Vec<Arc<str>>), Box<Diagnostic>> {
    let yaml = text.get(part.clone()).unwrap_or_default();
    let mut reader = YamlReader {
        source: SourceText::new(name, text, base),
        offsets: ByteOffsets::of(yaml, part.start),
        limits,
        values: 0,
        open: Vec::new(),
        anchors: HashMap::new(),
        anchors_before: 0,
        holders: Vec::new(),
        root: None,
    };
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| reader.scan_error(&error))?;
        let span = reader.offsets.span(span);
        reader.read(event, span)?;
    }
    let Some(root) = reader.root else {
        return Err(problem("the text has no value", 0..0, "write a plan"));
    };
    let document = Document {
        syntax: Syntax::Json,
        root,
        source: reader.source,
        limits: *limits,
    };
    Ok((document, reader.holders))
}

pub(super) fn problem(
    message: impl Into<String>,
    span: impl Into<Span>,
    help: &str,
) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::error(Code::NotJson, message.into());
    Box::new(diagnostic.at_span("", span).help(help))
}

/// The byte at which each character begins; the parser counts characters.
struct ByteOffsets {
    /// Empty if each character has one byte.
    starts: Vec<usize>,
    length: usize,
    /// The byte of the whole text at which the part begins.
    origin: usize,
}

impl ByteOffsets {
    fn of(part: &str, origin: usize) -> Self {
        let starts = if part.is_ascii() {
            Vec::new()
        } else {
            part.char_indices().map(|(start, _)| start).collect()
        };
        Self {
            starts,
            length: part.len(),
            origin,
        }
    }

    fn byte(&self, character: usize) -> usize {
        let byte = if self.starts.is_empty() {
            character.min(self.length)
        } else {
            self.starts.get(character).copied().unwrap_or(self.length)
        };
        self.origin + byte
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.byte(span.start.index());
        let end = self.byte(span.end.index()).max(start);
        Span { start, end }
    }
}

/// The key whose object's fields belong to the object around it.
const MERGE_KEY: &str = "<<";

/// The beginnings of keys whose fields hold anchors by custom.
const HOLDERS: [&str; 2] = ["x-", "."];

/// The anchor id of values without an anchor, as the parser reports it.
const NO_ANCHOR: usize = 0;

/// A list or an object whose end was not read yet.
struct OpenContainer {
    place: Place,
    start: usize,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Item>),
    Object {
        entries: Vec<ItemEntry>,
        /// The keys, with the places where they were written.
        keys: HashMap<Arc<str>, Span>,
        /// The key whose value comes next.
        key: Option<(Arc<str>, Span)>,
    },
}

struct YamlReader<'a> {
    source: SourceText,
    offsets: ByteOffsets,
    limits: &'a ReadLimits,
    values: usize,
    open: Vec<OpenContainer>,
    /// The values that aliases repeat, by the number of their anchor.
    anchors: HashMap<usize, Item>,
    /// The number of anchors before the current field at the top.
    anchors_before: usize,
    /// The keys of the fields at the top that only hold anchors.
    holders: Vec<Arc<str>>,
    root: Option<Item>,
}

/// The value of the field in `line` in quotes, with the byte at which it begins, if it has no quotes, and signs that need them.
fn quoted_value(line: &str) -> Option<(usize, String)> {
    let (key, value) = line.trim_end().split_once(": ")?;
    let name = key.trim_start_matches([' ', '-']);
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|sign| sign.is_alphanumeric() || sign == '_' || sign == '-');
    let text = value.trim_start();
    let at = key.len() + ": ".len() + value.len() - text.len();
    let is_open = text.starts_with(['@', '%'])
        || text.contains(": ") && !text.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!']);
    let is_shown = !text.contains('`') && line.len() == line.trim_end().len();
    (is_name && is_open && is_shown).then(|| (at, format!("'{}'", text.replace('\'', "''"))))
}

impl YamlReader<'_> {
    fn scan_error(&self, error: &ScanError) -> Box<Diagnostic> {
        let at = self.offsets.byte(error.marker().index());
        let text = self.source.text();
        let line_start = text.get(..at).map_or(0, |before| {
            before.rfind('\n').map_or(0, |line_break| line_break + 1)
        });
        let line = text.get(line_start..).unwrap_or_default();
        let line = line.lines().next().unwrap_or_default();
        let help = if error.info().contains("unknown anchor") {
            "an alias such as `*name` repeats the value that `&name` marks, which must stand above it; a text that begins with `*` is written in quotes"
        } else if line.trim_start_matches(' ').starts_with('\t') {
            "indent with blanks: YAML has no tabs there"
        } else {
            "put the whole text in quotes, single ones around double ones, if it has `: `, ` #`, or begins with a sign such as `{`, `[`, `*`, `@` or `%`"
        };
        let message = format!("the text is YAML, and malformed here: {}", error.info());
        let span = line_start..line_start + line.len();
        if let Some((at, quoted)) = quoted_value(line) {
            let help = format!("put the whole text in quotes: write `{quoted}`");
            let edit = TextEdit::new(line_start + at..span.end, quoted);
            return Box::new(problem(message, span, &help).fixes([edit]));
        }
        problem(message, span, help)
    }

    fn read(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Diagnostic>> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                let message = "the text has several documents of YAML";
                Err(problem(message, span, "put all steps into one document"))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Alias(anchor) => self.repeat(anchor, span),
            Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) if tag.is_some() => {
                Err(tag_problem(span))
            }
            Event::SequenceStart(anchor, _) => self.begin(OpenKind::List(Vec::new()), anchor, span),
            Event::MappingStart(anchor, _) => {
                let kind = OpenKind::Object {
                    entries: Vec::new(),
                    keys: HashMap::new(),
                    key: None,
                };
                self.begin(kind, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span.end),
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    return Err(tag_problem(span));
                }
                let span = self.scalar_span(span, style);
                if self.expects_key() {
                    return self.take_key(text.into(), span);
                }
                let kind = match style {
                    ScalarStyle::Plain => plain_value(&text, span, self.open_key())?,
                    ScalarStyle::SingleQuoted
                    | ScalarStyle::DoubleQuoted
                    | ScalarStyle::Literal
                    | ScalarStyle::Folded => ItemKind::Text(text.into()),
                };
                let place = self.add_place(span)?;
                self.attach(Item { kind, place }, anchor);
                Ok(())
            }
        }
    }

    /// Repeats the value at `anchor`, with the places where it was written. Repeated values count, and so does their depth, so that a
    /// small text cannot stand for a value that is huge or exhausts the stack.
    fn repeat(&mut self, anchor: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        let item = self.anchors.get(&anchor).cloned();
        let Some(item) = item.filter(|_| !self.expects_key()) else {
            return Err(problem(
                "the alias has no value here",
                span,
                "write the value itself",
            ));
        };
        let mut open = vec![(&item, self.open.len())];
        while let Some((item, depth)) = open.pop() {
            self.values += 1;
            self.check_count(span)?;
            match &item.kind {
                ItemKind::List(items) => {
                    self.check_depth(depth, span)?;
                    open.extend(items.iter().map(|item| (item, depth + 1)));
                }
                ItemKind::Object(entries) => {
                    self.check_depth(depth, span)?;
                    open.extend(entries.iter().map(|entry| (&entry.item, depth + 1)));
                }
                ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => {}
            }
        }
        self.attach(item, NO_ANCHOR);
        Ok(())
    }

    fn check_count(&self, span: Span) -> Result<(), Box<Diagnostic>> {
        if self.values <= self.limits.values {
            return Ok(());
        }
        let message = format!(
            "the text has more than the {} values that are allowed",
            self.limits.values
        );
        let diagnostic = Diagnostic::error(Code::TooLarge, message).at_span("", span);
        Err(Box::new(diagnostic.help(super::REDUCE_SIZE)))
    }

    /// Checks that a list or an object may have `depth` of them around it.
    fn check_depth(&self, depth: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        let limit = self.limits.effective_depth();
        if depth < limit {
            return Ok(());
        }
        let message = format!("the text is nested deeper than the allowed {limit} levels");
        let diagnostic = Diagnostic::error(Code::TooDeep, message).at_span("", span);
        Err(Box::new(diagnostic.help(
            "flatten the value, or pass it as an input of the run",
        )))
    }

    /// The span of a scalar, without the blanks after a block or a plain text.
    fn scalar_span(&self, span: Span, style: ScalarStyle) -> Span {
        let is_quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
        if is_quoted {
            return span;
        }
        self.trimmed(span)
    }

    fn trimmed(&self, span: Span) -> Span {
        let written = self.source.text().get(span.start..span.end);
        let length = written.map_or(0, |written| written.trim_end().len());
        Span {
            start: span.start,
            end: span.start + length,
        }
    }

    /// The key of the value that comes next; `None` outside of an object.
    fn open_key(&self) -> Option<&str> {
        match self.open.last().map(|open| &open.kind) {
            Some(OpenKind::Object { key, .. }) => key.as_ref().map(|(key, _)| &**key),
            Some(OpenKind::List(_)) | None => None,
        }
    }

    fn expects_key(&self) -> bool {
        let open = self.open.last().map(|open| &open.kind);
        matches!(open, Some(OpenKind::Object { key: None, .. }))
    }

    fn take_key(&mut self, text: Arc<str>, span: Span) -> Result<(), Box<Diagnostic>> {
        if let Some(OpenContainer {
            kind: OpenKind::Object { keys, key, .. },
            ..
        }) = self.open.last_mut()
        {
            if keys.insert(Arc::clone(&text), span).is_some() {
                let message = format!("the object has the key {} twice", quote(&text));
                let diagnostic = Diagnostic::error(Code::DuplicateKey, message);
                let diagnostic = diagnostic.at_span("", span);
                return Err(Box::new(diagnostic.help("leave one of them out")));
            }
            *key = Some((text, span));
            if self.open.len() == 1 {
                self.anchors_before = self.anchors.len();
            }
        }
        Ok(())
    }

    /// Adds a place for the next value of the innermost list or object.
    fn add_place(&mut self, span: Span) -> Result<Place, Box<Diagnostic>> {
        self.values += 1;
        self.check_count(span)?;
        let (parent, segment) = match self.open.last() {
            None => (Place::NOWHERE, PointerSegment::Root),
            Some(OpenContainer { place, kind, .. }) => {
                let segment = match kind {
                    OpenKind::List(items) => PointerSegment::Index(items.len()),
                    OpenKind::Object { key, .. } => {
                        key.as_ref().map_or(PointerSegment::Root, |(key, _)| {
                            PointerSegment::Key(Arc::clone(key))
                        })
                    }
                };
                (*place, segment)
            }
        };
        Ok(self.source.add(parent, segment, span))
    }

    fn begin(&mut self, kind: OpenKind, anchor: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        if self.expects_key() {
            let message = "a key is a list or an object";
            return Err(problem(message, span, "put a text with braces in quotes"));
        }
        self.check_depth(self.open.len(), span)?;
        let place = self.add_place(span)?;
        self.open.push(OpenContainer {
            place,
            start: span.start,
            anchor,
            kind,
        });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), Box<Diagnostic>> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let span = self.trimmed(Span {
            start: open.start,
            end,
        });
        self.source.set_span(open.place, span);
        let kind = match open.kind {
            OpenKind::List(items) => ItemKind::List(items),
            OpenKind::Object { entries, keys, .. } => ItemKind::Object(merged(entries, &keys)?),
        };
        let item = Item {
            kind,
            place: open.place,
        };
        self.attach(item, open.anchor);
        Ok(())
    }

    /// Puts `item` into the innermost list or object, and under its anchor.
    fn attach(&mut self, item: Item, anchor: usize) {
        if anchor != NO_ANCHOR {
            self.anchors.insert(anchor, item.clone());
        }
        let is_top = self.open.len() == 1;
        let has_anchors = self.anchors.len() > self.anchors_before;
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(item),
            Some(OpenKind::List(items)) => items.push(item),
            Some(OpenKind::Object { entries, key, .. }) => {
                if let Some((key, key_span)) = key.take() {
                    if is_top && has_anchors && HOLDERS.iter().any(|start| key.starts_with(start)) {
                        self.holders.push(Arc::clone(&key));
                    }
                    entries.push(ItemEntry {
                        key,
                        key_span,
                        item,
                    });
                }
            }
        }
    }
}

/// The fields of an object, with those of the objects at its [merge key](https://yaml.org/type/merge.html), unless it has them itself.
fn merged(
    entries: Vec<ItemEntry>,
    keys: &HashMap<Arc<str>, Span>,
) -> Result<Vec<ItemEntry>, Box<Diagnostic>> {
    if !keys.contains_key(MERGE_KEY) {
        return Ok(entries);
    }
    let (merges, mut fields): (Vec<ItemEntry>, Vec<ItemEntry>) = entries
        .into_iter()
        .partition(|entry| &*entry.key == MERGE_KEY);
    let mut known: HashSet<Arc<str>> = keys.keys().cloned().collect();
    for merge in merges {
        let objects = match merge.item.kind {
            ItemKind::List(items) => items,
            _ => vec![merge.item],
        };
        for object in objects {
            let ItemKind::Object(others) = object.kind else {
                let message = "the key `<<` has a value without fields";
                let help = "give it an object, such as an alias of one";
                return Err(problem(message, merge.key_span, help));
            };
            fields.extend(
                others
                    .into_iter()
                    .filter(|other| known.insert(Arc::clone(&other.key))),
            );
        }
    }
    Ok(fields)
}

fn tag_problem(span: Span) -> Box<Diagnostic> {
    let help = "leave the tag out; a text is one in double quotes";
    problem("a tag is not read in a plan", span, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_yaml() {
        let check = |text: &str, expected: Option<&str>| {
            let limits = ReadLimits {
                values: 10_000,
                ..ReadLimits::default()
            };
            let found = read_yaml(text, 0..text.len(), ("", 0), &limits).ok();
            let found = found.map(|document| document.root.to_value().to_json());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            "steps:\n  - id: a\n    args:\n      n: 1\n      t: 'it''s'\n  - id: b\n",
            Some(r#"{"steps":[{"id":"a","args":{"n":1,"t":"it's"}},{"id":"b"}]}"#),
        );
        check(
            "a:\n- x: true # yes\n- [1, 2]\nb:",
            Some(r#"{"a":[{"x":true},[1,2]],"b":null}"#),
        );
        check("a: ${b.c}", Some(r#"{"a":"${b.c}"}"#));
        check(
            "a: |\n  x\n\n    # y\nb:\n  - >-\n    c\n    d\n  - e",
            Some(r#"{"a":"x\n\n  # y\n","b":["c d","e"]}"#),
        );
        check(
            "d: &d\n  x: 1\n  y: 1\nm:\n  y: 2\n  <<: *d\nn: *d",
            Some(r#"{"d":{"x":1,"y":1},"m":{"y":2,"x":1},"n":{"x":1,"y":1}}"#),
        );
        check(
            "---\na: True\nb: ~\nc: False\nd: # none\ne: it's # c",
            Some(r#"{"a":true,"b":null,"c":false,"d":null,"e":"it's"}"#),
        );
        for text in [
            "a: 1\na: 2",
            "a: 1\n---\na: 2",
            "a: {b: 1, b: 2}",
            "a: 'x' y",
            "a: +1",
            "a: 012",
            "a: yes",
            "a: *b",
            "a: 1\n<<: 5",
            "a: 1\n   b: 2",
            "a: {b: [}",
            "? [a]\n: b",
            "",
        ] {
            check(text, None);
        }
        check(
            &format!("a: {}{}", "[".repeat(20_000), "]".repeat(20_000)),
            None,
        );
        check(&format!("{}b", "- ".repeat(20_000)), None);
        // Each level has ten times the values of the one before.
        let bomb = (1..10).map(|at| {
            let aliases = format!("\n  - *a{}", at - 1).repeat(10);
            format!("a{at}: &a{at}{aliases}\n")
        });
        check(&format!("a0: &a0 lol\n{}", bomb.collect::<String>()), None);
        // Each level is one deeper than the one before.
        let chain = (1..130).map(|at| format!("a{at}: &a{at}\n  - *a{}\n", at - 1));
        check(&format!("a0: &a0 lol\n{}", chain.collect::<String>()), None);
    }
}
