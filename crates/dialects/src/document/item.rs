//! A JSON text in memory: its values with the places where they were written, and the fields of its objects, read by
//! name; missing, wrong and unknown fields become diagnostics.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Code, Diagnostic, Number, Place, SourceText, Span, Value};

use super::sink::synonym;
use super::{DiagnosticSink, nearest, quote};

/// A text with its values and places.
#[derive(Clone, Debug)]
pub struct Document {
    /// The syntax of the text.
    pub syntax: Syntax,
    /// The value; for a text in lines, the text itself.
    pub root: Item,
    /// The text with the places of its values.
    pub source: SourceText,
    /// The limits under which the text was read; values inside its texts are read under the same ones.
    pub limits: ReadLimits,
}

impl Document {
    /// Returns true if a line of the text satisfies `predicate`.
    pub(crate) fn any_line(&self, predicate: impl Fn(&str) -> bool) -> bool {
        let text = self.root.as_text();
        text.is_some_and(|text| text.lines().any(predicate))
    }

    /// Returns true if an item satisfies `predicate`, of the root if that is a list, or of the lists in its `fields`.
    pub(crate) fn any_item(&self, fields: &[&str], predicate: impl Fn(&Item) -> bool) -> bool {
        let lists = fields.iter().filter_map(|field| self.root.get(field));
        let mut lists = lists.chain([&self.root]).filter_map(Item::as_list);
        lists.any(|items| items.iter().any(&predicate))
    }
}

/// The syntax of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A single JSON value.
    Json,
    /// Lines, which each dialect reads in its own way.
    Lines,
}

/// A value of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The kind of the value, and the value itself.
    pub kind: ItemKind,
    /// The place of the value.
    pub place: Place,
}

/// The kinds of values.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text, with its escapes resolved.
    Text(Arc<str>),
    /// A list.
    List(Vec<Item>),
    /// An object. Of duplicate keys, which the reader reports, the last one counts.
    Object(Vec<ItemEntry>),
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEntry {
    /// The key, with its escapes resolved.
    pub key: Arc<str>,
    /// The bytes of the key, quotes included.
    pub key_span: Span,
    /// The value.
    pub item: Item,
}

impl Item {
    /// The text, if the value is a string.
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match &self.kind {
            ItemKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if the value is a list.
    pub fn as_list(&self) -> Option<&[Item]> {
        match &self.kind {
            ItemKind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The fields, if the value is an object.
    pub fn as_object(&self) -> Option<&[ItemEntry]> {
        match &self.kind {
            ItemKind::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The field `key`, if the value is an object with such a field.
    pub fn get(&self, key: &str) -> Option<&Item> {
        let entries = self.as_object()?;
        let entry = entries.iter().rfind(|entry| &*entry.key == key)?;
        Some(&entry.item)
    }

    /// Returns true if the value is an object with a field `key`.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns true if the value is `null`.
    pub fn is_null(&self) -> bool {
        self.kind == ItemKind::Null
    }

    /// The word for this value's kind, as messages use it.
    pub fn kind_word(&self) -> &'static str {
        match &self.kind {
            ItemKind::Null => "null",
            ItemKind::Bool(_) => "boolean",
            ItemKind::Number(_) => "number",
            ItemKind::Text(_) => "text",
            ItemKind::List(_) => "list",
            ItemKind::Object(_) => "object",
        }
    }

    /// The value without its places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            ItemKind::Null => Value::Null,
            ItemKind::Bool(value) => Value::Bool(*value),
            ItemKind::Number(number) => Value::Number(number.clone()),
            ItemKind::Text(text) => Value::Text(Arc::clone(text)),
            ItemKind::List(items) => Value::list(items.iter().map(Item::to_value)),
            ItemKind::Object(entries) => Value::object(
                entries
                    .iter()
                    .map(|entry| (Arc::clone(&entry.key), entry.item.to_value())),
            ),
        }
    }
}

/// The advice for a text that is larger than the limits allow.
pub(crate) const REDUCE_SIZE: &str = "let large values be inputs of the run, or come from a step";

/// The limits of reading one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The maximum number of bytes.
    pub bytes: usize,
    /// The maximum nesting of lists and objects; at most [`ReadLimits::MAX_DEPTH`].
    pub depth: usize,
    /// The maximum number of values, keys not counted.
    pub values: usize,
    /// The maximum number of diagnostics that are reported one by one, up to [a fixed
    /// bound](planwright_core::diagnostic::DiagnosticCounter::MAX_SHOWN); further ones are only counted.
    pub diagnostics: usize,
}

impl ReadLimits {
    /// The nesting that no setting exceeds, so that recursion over a value cannot exhaust the stack.
    pub const MAX_DEPTH: usize = 512;

    /// The maximum timeout or delay of a step: about 584 years, the nanoseconds that 64 bits can count.
    pub const MAX_DURATION: Duration = Duration::from_nanos(u64::MAX);

    /// The effective maximum nesting: the setting, but at most [`ReadLimits::MAX_DEPTH`].
    pub fn effective_depth(&self) -> usize {
        self.depth.min(Self::MAX_DEPTH)
    }
}

impl Default for ReadLimits {
    /// 16 MiB, 128 levels, a million values, a hundred diagnostics.
    fn default() -> Self {
        Self {
            bytes: 16 * 1024 * 1024,
            depth: 128,
            values: 1_000_000,
            diagnostics: 100,
        }
    }
}

/// The number of known fields of most objects.
const EXPECTED_FIELDS: usize = 32;

/// The fields of one object. Each field that is read counts as known; [`Fields::finish`] reports all others.
///
/// An optional field may also be `null`, because programs often write it so. [`Fields::entry`] distinguishes the two.
#[derive(Debug)]
pub struct Fields<'a> {
    owner: &'static str,
    place: Place,
    entries: &'a [ItemEntry],
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of `item`, which messages call `owner` (with its article: "the step").
    ///
    /// Reports a diagnostic and returns `None` if `item` is not an object.
    pub fn of(item: &'a Item, owner: &'static str, sink: &mut DiagnosticSink) -> Option<Self> {
        if let Some(entries) = item.as_object() {
            return Some(Self {
                owner,
                place: item.place,
                entries,
                known: Vec::with_capacity(EXPECTED_FIELDS),
            });
        }
        let found = super::with_article(item.kind_word());
        let message = format!("{owner} must be an object, found {found}");
        sink.push(item.place, Diagnostic::error(Code::WrongFieldType, message));
        None
    }

    /// The place of the object.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The field `name` with its key, whatever its value, `null` included.
    pub fn entry(&mut self, name: &'static str) -> Option<&'a ItemEntry> {
        // A name may be read twice; `finish` removes it if it has to list them.
        self.known.push(name);
        // Of duplicate keys, which the reader has reported, the last one counts.
        self.entries.iter().rfind(|entry| &*entry.key == name)
    }

    /// The value of the field `name`, or `None` if the field is absent or `null`.
    pub fn optional(&mut self, name: &'static str) -> Option<&'a Item> {
        let item = &self.entry(name)?.item;
        (!item.is_null()).then_some(item)
    }

    /// The value of the field `name`. Reports a diagnostic if the field is absent.
    pub fn required(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a Item> {
        let entry = self.entry(name);
        if entry.is_none() {
            self.report_missing(name, sink);
        }
        entry.map(|entry| &entry.item)
    }

    /// Reports that the field `name` is missing.
    pub fn report_missing(&self, name: &str, sink: &mut DiagnosticSink) {
        let message = format!("{} has no `{name}`", self.owner);
        let diagnostic = Diagnostic::error(Code::MissingField, message);
        sink.push(self.place, diagnostic.help(format!("add `{name}`")));
    }

    /// The text in the optional field `name`.
    pub fn text(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a Arc<str>> {
        let item = self.optional(name)?;
        expect_type(item, name, "text", item.as_text(), sink)
    }

    /// The text in the required field `name`, and its place.
    pub fn required_text(
        &mut self,
        name: &'static str,
        sink: &mut DiagnosticSink,
    ) -> Option<(&'a Arc<str>, Place)> {
        let item = self.required(name, sink)?;
        let text = expect_type(item, name, "text", item.as_text(), sink)?;
        Some((text, item.place))
    }

    /// The list in the optional field `name`.
    pub fn list(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a [Item]> {
        let item = self.optional(name)?;
        expect_type(item, name, "a list", item.as_list(), sink)
    }

    /// The list in the required field `name`.
    pub fn required_list(
        &mut self,
        name: &'static str,
        sink: &mut DiagnosticSink,
    ) -> Option<&'a [Item]> {
        let item = self.required(name, sink)?;
        expect_type(item, name, "a list", item.as_list(), sink)
    }

    /// The object in the optional field `name`.
    pub fn object(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<&'a Item> {
        let item = self.optional(name)?;
        expect_type(item, name, "an object", item.as_object(), sink)?;
        Some(item)
    }

    /// The truth value in the optional field `name`.
    pub fn boolean(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<bool> {
        let item = self.optional(name)?;
        let value = match &item.kind {
            ItemKind::Bool(value) => Some(*value),
            _ => None,
        };
        expect_type(item, name, "true or false", value, sink)
    }

    /// The whole number from 0 on in the optional field `name`, and its place.
    pub fn count(&mut self, name: &'static str, sink: &mut DiagnosticSink) -> Option<(u64, Place)> {
        let item = self.optional(name)?;
        let ItemKind::Number(number) = &item.kind else {
            sink.push_wrong_type(item, name, "a whole number");
            return None;
        };
        if let Some(count) = number.as_u64() {
            return Some((count, item.place));
        }
        let message = format!("`{name}` must be a whole number from 0 on, found `{number}`");
        sink.push(
            item.place,
            Diagnostic::error(Code::InvalidFieldValue, message),
        );
        None
    }

    /// Reports every field that was not read.
    pub fn finish(mut self, sink: &mut DiagnosticSink) {
        if self.unknown().next().is_none() {
            return;
        }
        let mut seen = HashSet::new();
        self.known.retain(|name| seen.insert(*name));
        let unknown = self.unknown();
        let guess = FieldGuess::new(&self);
        for entry in unknown {
            // A guess compares the key with all known fields. It is skipped if the limit of diagnostics hides its result.
            if sink.count_error_if_full() {
                continue;
            }
            let message = format!("{} has an unknown field {}", self.owner, quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let diagnostic = match guess.best_match(&entry.key) {
                Some((name, is_certain)) => {
                    let diagnostic = diagnostic.help(format!("did you mean `{name}`?"));
                    // A certain guess becomes a fix that can be applied without asking.
                    if is_certain {
                        diagnostic.rename(name)
                    } else {
                        diagnostic
                    }
                }
                None => diagnostic.help(format!("it may have {}", offer(&entry.key, &self.known))),
            };
            sink.push_at_key(entry, diagnostic);
        }
    }

    fn unknown(&self) -> impl Iterator<Item = &'a ItemEntry> {
        let is_known = |entry: &&ItemEntry| self.known.iter().any(|known| **known == *entry.key);
        self.entries.iter().filter(move |entry| !is_known(entry))
    }
}

/// Guesses the known fields that unknown ones stand for.
struct FieldGuess<'k> {
    known: &'k [&'static str],
    /// The known fields that the object has.
    present: HashSet<&'static str>,
    /// The number of unknown fields that are a synonym of each known one.
    synonyms: HashMap<&'static str, usize>,
}

impl<'k> FieldGuess<'k> {
    fn new(fields: &'k Fields<'_>) -> Self {
        let known = fields.known.as_slice();
        let present = |name: &&str| fields.entries.iter().any(|entry| *entry.key == **name);
        let mut synonyms = HashMap::new();
        for entry in fields.unknown() {
            if let Some(name) = synonym(&entry.key, known) {
                *synonyms.entry(name).or_default() += 1;
            }
        }
        Self {
            known,
            present: known.iter().copied().filter(present).collect(),
            synonyms,
        }
    }

    /// The field that `written` is probably a misspelling of or a synonym for; `true` if it is the only candidate and the object
    /// does not have it yet.
    fn best_match(&self, written: &str) -> Option<(&'static str, bool)> {
        let is_free = |name: &str| !self.present.contains(name);
        if let Some(name) = synonym(written, self.known) {
            let is_alone = self.synonyms.get(name) == Some(&1);
            return Some((name, is_alone && is_free(name)));
        }
        let name = nearest(written, self.known.iter().copied())?;
        // A fix is offered only if no other known name is near as well.
        let others = self.known.iter().copied().filter(|known| *known != name);
        Some((name, nearest(written, others).is_none() && is_free(name)))
    }
}

fn expect_type<T>(
    item: &Item,
    name: &str,
    wanted: &str,
    value: Option<T>,
    sink: &mut DiagnosticSink,
) -> Option<T> {
    if value.is_none() {
        sink.push_wrong_type(item, name, wanted);
    }
    value
}

/// The maximum number of fields in advice about an unknown one.
const MAX_OFFERED: usize = 5;

/// The fields in `known` that an object may have in place of `written`, the nearest ones first if they are many.
fn offer(written: &str, known: &[&str]) -> String {
    let others = known.len().saturating_sub(MAX_OFFERED);
    if others == 0 || written.len() > MAX_COMPARED {
        return list_of(&known[..known.len().min(MAX_OFFERED)], others);
    }
    let mut offered = known.to_vec();
    // The order of the fields decides between those that are equally far.
    offered.sort_by_cached_key(|name| strsim::damerau_levenshtein(written, name));
    offered.truncate(MAX_OFFERED);
    list_of(&offered, others)
}

/// The longest name that is compared with others, in bytes.
const MAX_COMPARED: usize = 64;

fn list_of(names: &[&str], others: usize) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let quoted = quoted.join(", ");
    if others == 0 {
        return quoted;
    }
    format!(
        "{quoted} or one of {others} others, which the page of its dialect lists: `planwright explain PW0105`"
    )
}
