//! A JSON text in memory, its values with the places where they were written, and the limits of reading.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Number, Place, SourceText, Span, Value};

/// A text with its values and places.
#[derive(Clone, Debug)]
pub struct Document {
    /// The syntax of the text.
    pub syntax: Syntax,
    /// The value; for a text in lines, the text itself.
    pub root: Item,
    /// The text and the places in it.
    pub source: SourceText,
    /// The limits under which the text was read; values inside its texts are read under the same ones.
    pub limits: ReadLimits,
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
    /// The text, if the value is one.
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

    /// The field `key`, if the value is an object that has it.
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
