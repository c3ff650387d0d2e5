//! A JSON text in memory: values with the places where they were written.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Number, Place, Source, Span, Value};

/// A text that was read.
#[derive(Clone, Debug)]
pub struct Document {
    /// What the text is made of.
    pub syntax: Syntax,
    /// The value; for a text in lines, the text itself.
    pub root: Item,
    /// The text and the places in it.
    pub source: Source,
    /// The bounds under which it was read, for what is read further inside of it.
    pub limits: Limits,
}

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// One JSON value.
    Json,
    /// Lines, which each dialect reads in its own way.
    Lines,
}

/// One value of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Where it stands.
    pub place: Place,
}

/// What an [`Item`] is.
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
    /// An object. Where a key stands twice (which is a finding), the later one counts.
    Object(Vec<Entry>),
}

/// One field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, with its escapes resolved.
    pub key: Arc<str>,
    /// Where the key stands, quotes included.
    pub key_span: Span,
    /// The value.
    pub item: Item,
}

impl Item {
    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match &self.kind {
            ItemKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Item]> {
        match &self.kind {
            ItemKind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The fields, if this is an object.
    pub fn as_object(&self) -> Option<&[Entry]> {
        match &self.kind {
            ItemKind::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The field `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Item> {
        let entries = self.as_object()?;
        let entry = entries.iter().rfind(|entry| &*entry.key == key)?;
        Some(&entry.item)
    }

    /// Whether this is an object with a field `key`.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Whether this is `null`.
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

/// What to do where a text is larger than its limits allow.
pub(crate) const REDUCE_SIZE: &str = "let large values be inputs of the run, or come from a step";

/// The bounds of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of text.
    pub bytes: usize,
    /// The deepest nesting of lists and objects; at most [`Limits::DEEPEST`].
    pub depth: usize,
    /// The most values, keys not counted.
    pub values: usize,
    /// The most findings that are told apart, up to [some](planwright_core::diagnostic::Tally::MOST); the rest is only counted.
    pub diagnostics: usize,
}

impl Limits {
    /// The nesting that no setting goes beyond, so that what walks over a value need not fear for its stack.
    pub const DEEPEST: usize = 512;

    /// The longest time that a step may be given, or wait: some 584 years, the nanoseconds of which 64 bits can count.
    pub const MAX_DURATION: Duration = Duration::from_nanos(u64::MAX);

    /// The depth that counts: the setting, or [`Limits::DEEPEST`] where that is less.
    pub fn effective_depth(&self) -> usize {
        self.depth.min(Self::DEEPEST)
    }
}

impl Default for Limits {
    /// 16 MiB, 128 levels, a million values, a hundred findings.
    fn default() -> Self {
        Self {
            bytes: 16 * 1024 * 1024,
            depth: 128,
            values: 1_000_000,
            diagnostics: 100,
        }
    }
}
