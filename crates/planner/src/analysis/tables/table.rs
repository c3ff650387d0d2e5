//! Tables: related values from lists, lists of lists, and objects with similar fields.

use std::borrow::Cow;

use planwright_core::{Object, Value};

use crate::analysis::fields::field_name::is_label;
use crate::analysis::fields::parse_period;
use crate::analysis::report::ValueKind;

/// The number of items of a table that are analyzed.
pub(crate) const MAX_ITEMS: usize = 100_000;

/// The smallest object of numbers that is a table rather than a record.
const MIN_KEYED_NUMBERS: usize = 3;

/// Values of one kind with their locations.
#[derive(Debug, Default)]
pub(crate) struct Table<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    /// The pointer to all rows, with `*` for each of them.
    pub(crate) at: String,
    /// The pointers to the lists and objects that contain the rows.
    parents: Vec<String>,
    /// The currencies that the records around those name.
    currencies: Vec<Option<String>>,
    /// The names of the columns, if the rows were lists.
    pub(crate) column_names: Vec<String>,
    /// The number of lists that the rows come from.
    pub(crate) lists: usize,
    /// The number of rows above the limit.
    pub(crate) left_out: usize,
}

/// A value of a table.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) value: Cow<'a, Value>,
    pub(crate) parent: usize,
    pub(crate) key: RowKey<'a>,
}

/// The last segment of a row's pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowKey<'a> {
    Index(usize),
    Name(&'a str),
    /// No segment: the row is the value at its parent's pointer.
    Whole,
}

impl<'a> Table<'a> {
    /// Creates a table of the items of a list.
    pub(crate) fn of_list(items: &'a [Value], at: &str) -> Self {
        let mut table = Self::new(format!("{at}/*"));
        table.add_list(Cow::Borrowed(items), at.to_owned());
        table
    }

    /// Creates a table without rows.
    pub(crate) fn new(at: String) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }

    /// Creates a table of an object's fields, if they are records or numbers of one kind under different keys.
    pub(crate) fn of_object(fields: &'a Object, at: &str) -> Option<Self> {
        if !is_keyed(fields) {
            return None;
        }
        let mut table = Self::new(format!("{at}/*"));
        table.parents.push(at.to_owned());
        table.lists = 1;
        table.left_out = fields.len().saturating_sub(MAX_ITEMS);
        table.rows = fields
            .iter()
            .take(MAX_ITEMS)
            .map(|(key, value)| Row {
                value: Cow::Borrowed(value),
                parent: 0,
                key: RowKey::Name(key),
            })
            .collect();
        Some(table)
    }

    /// Adds the items of a list.
    pub(crate) fn add_list(&mut self, items: Cow<'a, [Value]>, at: String) {
        let parent = self.parents.len();
        self.parents.push(at);
        self.lists += 1;
        let space = MAX_ITEMS - self.rows.len();
        self.left_out += items.len().saturating_sub(space);
        let row = |(index, value)| Row {
            value,
            parent,
            key: RowKey::Index(index),
        };
        match items {
            // Only items parsed from texts are owned; all others stay borrowed.
            Cow::Borrowed(items) => {
                let values = items.iter().map(Cow::Borrowed);
                self.rows.extend(values.take(space).enumerate().map(row));
            }
            Cow::Owned(items) => {
                let values = items.into_iter().map(Cow::Owned);
                self.rows.extend(values.take(space).enumerate().map(row));
            }
        }
    }

    /// Adds a single row.
    pub(crate) fn add_value(&mut self, value: Value, at: String) {
        if MAX_ITEMS <= self.rows.len() {
            self.left_out += 1;
            return;
        }
        self.lists += 1;
        self.rows.push(Row {
            value: Cow::Owned(value),
            parent: self.parents.len(),
            key: RowKey::Whole,
        });
        self.parents.push(at);
    }

    /// Creates a table with the same locations and other rows.
    pub(crate) fn with_rows<'r>(&self, rows: Vec<Row<'r>>, column_names: Vec<String>) -> Table<'r> {
        Table {
            rows,
            at: self.at.clone(),
            parents: self.parents.clone(),
            currencies: self.currencies.clone(),
            column_names,
            lists: self.lists,
            left_out: self.left_out,
        }
    }

    /// Returns the pointer to a row.
    pub(crate) fn pointer(&self, row: usize) -> String {
        let Some(row) = self.rows.get(row) else {
            return String::new();
        };
        let parent = self.parents.get(row.parent).map_or("", String::as_str);
        match row.key {
            RowKey::Index(index) => format!("{parent}/{index}"),
            RowKey::Name(key) => join_pointer(parent, key),
            RowKey::Whole => parent.to_owned(),
        }
    }

    /// Sets the currency of the list or value that was added last.
    pub(crate) fn set_currency(&mut self, currency: Option<String>) {
        self.currencies
            .resize(self.parents.len().saturating_sub(1), None);
        self.currencies.push(currency);
    }

    /// Returns the currency that the records around a row name.
    pub(crate) fn currency(&self, row: usize) -> Option<&str> {
        let parent = self.rows.get(row)?.parent;
        self.currencies.get(parent)?.as_deref()
    }

    /// Returns the name of the list or object that contains the rows.
    pub(crate) fn name(&self) -> String {
        let names = self.at.rsplit('/').find(|name| *name != "*");
        names
            .unwrap_or_default()
            .replace("~1", "/")
            .replace("~0", "~")
    }

    /// Returns the number of values, including those above the limit.
    pub(crate) fn count(&self) -> usize {
        self.rows.len() + self.left_out
    }

    /// Returns the kind of more than half of the rows.
    pub(crate) fn kind(&self) -> ValueKind {
        kind_of(self.rows.iter().map(|row| &*row.value))
    }
}

/// Returns the kind of more than half of the values.
pub(crate) fn kind_of<'v>(values: impl Iterator<Item = &'v Value>) -> ValueKind {
    let mut counts = [0_usize; 6];
    for value in values {
        let kind = match value {
            Value::Object(_) => 0,
            Value::Number(_) => 1,
            Value::Text(_) => 2,
            Value::Bool(_) => 3,
            Value::List(_) => 4,
            Value::Null => 5,
        };
        counts[kind] += 1;
    }
    let all: usize = counts.iter().sum();
    if all == 0 {
        return ValueKind::Empty;
    }
    match counts.iter().position(|count| all < count * 2) {
        Some(0) => ValueKind::Records,
        Some(1) => ValueKind::Numbers,
        Some(2) => ValueKind::Texts,
        Some(3) => ValueKind::Booleans,
        _ => ValueKind::List,
    }
}

/// Returns true for an object that is a table by key: records that share most fields, or numbers under days or proper names.
fn is_keyed(fields: &Object) -> bool {
    let mut values = fields.values();
    match values.next() {
        Some(Value::Object(first)) if 2 <= fields.len() => values.all(|value| {
            value.as_object().is_some_and(|other| {
                let shared = first
                    .keys()
                    .filter(|key| other.contains_key(&***key))
                    .count();
                // Similar records share at least half of the larger one's fields.
                0 < shared && first.len().max(other.len()) <= shared * 2
            })
        }),
        Some(_) if MIN_KEYED_NUMBERS <= fields.len() => {
            // Numbers under keys such as days or cities are data; `{width, height, depth}` is a record.
            let mut all = fields.values();
            all.all(|value| matches!(value, Value::Number(_))) && are_names(fields)
        }
        _ => false,
    }
}

/// Returns true if the keys look like data rather than field names: days, or words in a form that is unusual for field names.
fn are_names(fields: &Object) -> bool {
    let is_proper = |key: &str| {
        key.starts_with(|letter: char| {
            letter.is_uppercase() || letter.is_ascii_digit() || !letter.is_ascii()
        }) && !is_label(key)
    };
    // `Width` and `Height` are field names in some languages.
    let is_field = |key: &str| 3 < key.len() && key.bytes().all(|byte| byte.is_ascii_alphabetic());
    fields.keys().all(|key| parse_period(key).is_some())
        || fields.keys().all(|key| is_proper(key))
            && (3 < fields.len() || !fields.keys().all(|key| is_field(key)))
}

/// Appends a segment to a JSON pointer.
pub(crate) fn join_pointer(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
