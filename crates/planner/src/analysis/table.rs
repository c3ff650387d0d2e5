//! Tables: values that belong together, from lists, lists of lists, and objects whose fields are alike.

use std::borrow::Cow;

use planwright_core::{Object, Value};

use super::field_name::is_label;
use super::moment;
use super::quote::joined;
use super::report::Kind;

/// The most items of a table that are looked at.
pub(super) const ITEMS: usize = 100_000;

/// The fewest numbers in an object that are a table rather than fields of their own.
const FEWEST: usize = 3;

/// Values of one kind, each with its place.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    pub(super) rows: Vec<Row<'a>>,
    /// The pointer to all rows, with `*` for each of them.
    pub(super) at: String,
    /// The pointers that rows are in.
    parents: Vec<String>,
    /// The currencies that the records around those name.
    currencies: Vec<Option<String>>,
    /// How many lists the rows come from.
    pub(super) lists: usize,
    /// How many rows were not taken.
    pub(super) left_out: usize,
}

/// A value of a table.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) value: Cow<'a, Value>,
    pub(super) parent: usize,
    pub(super) own: Own<'a>,
}

/// The last part of a row's pointer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Own<'a> {
    Index(usize),
    Key(&'a str),
    /// The row is all that stands at its parent's pointer.
    Whole,
}

impl<'a> Table<'a> {
    /// The items of a list.
    pub(super) fn of_list(items: &'a [Value], at: &str) -> Self {
        let mut table = Self::below(format!("{at}/*"));
        table.add_list(Cow::Borrowed(items), at.to_owned());
        table
    }

    /// A table without rows.
    pub(super) fn below(at: String) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }

    /// The fields of an object, if they are records or numbers of one kind under different keys.
    pub(super) fn of_object(fields: &'a Object, at: &str) -> Option<Self> {
        if !is_keyed(fields) {
            return None;
        }
        let mut table = Self::below(format!("{at}/*"));
        table.parents.push(at.to_owned());
        table.lists = 1;
        table.left_out = fields.len().saturating_sub(ITEMS);
        table.rows = fields
            .iter()
            .take(ITEMS)
            .map(|(key, value)| Row {
                value: Cow::Borrowed(value),
                parent: 0,
                own: Own::Key(key),
            })
            .collect();
        Some(table)
    }

    /// Adds the items of a list that stands at `at`.
    pub(super) fn add_list(&mut self, items: Cow<'a, [Value]>, at: String) {
        let parent = self.parents.len();
        self.parents.push(at);
        self.lists += 1;
        let room = ITEMS - self.rows.len();
        self.left_out += items.len().saturating_sub(room);
        let row = |(index, value)| Row {
            value,
            parent,
            own: Own::Index(index),
        };
        match items {
            Cow::Borrowed(items) => {
                let values = items.iter().map(Cow::Borrowed);
                self.rows.extend(values.take(room).enumerate().map(row));
            }
            Cow::Owned(items) => {
                let values = items.into_iter().map(Cow::Owned);
                self.rows.extend(values.take(room).enumerate().map(row));
            }
        }
    }

    /// Adds a value that stands at `at`.
    pub(super) fn add_value(&mut self, value: Value, at: String) {
        if ITEMS <= self.rows.len() {
            self.left_out += 1;
            return;
        }
        self.lists += 1;
        self.rows.push(Row {
            value: Cow::Owned(value),
            parent: self.parents.len(),
            own: Own::Whole,
        });
        self.parents.push(at);
    }

    /// The pointer to a row.
    pub(super) fn place(&self, row: usize) -> String {
        let Some(row) = self.rows.get(row) else {
            return String::new();
        };
        let parent = self.parents.get(row.parent).map_or("", String::as_str);
        match row.own {
            Own::Index(index) => format!("{parent}/{index}"),
            Own::Key(key) => joined(parent, key),
            Own::Whole => parent.to_owned(),
        }
    }

    /// Says which currency the list or value that was added last is in.
    pub(super) fn set_currency(&mut self, currency: Option<String>) {
        self.currencies
            .resize(self.parents.len().saturating_sub(1), None);
        self.currencies.push(currency);
    }

    /// The currency that the records around a row name.
    pub(super) fn currency(&self, row: usize) -> Option<&str> {
        let parent = self.rows.get(row)?.parent;
        self.currencies.get(parent)?.as_deref()
    }

    /// The name of the list or object that the rows are in.
    pub(super) fn name(&self) -> String {
        let names = self.at.rsplit('/').find(|name| *name != "*");
        names
            .unwrap_or_default()
            .replace("~1", "/")
            .replace("~0", "~")
    }

    /// How many values there are, taken or not.
    pub(super) fn count(&self) -> usize {
        self.rows.len() + self.left_out
    }

    /// What more than half of the rows are.
    pub(super) fn kind(&self) -> Kind {
        kind_of(self.rows.iter().map(|row| &*row.value))
    }
}

/// What more than half of some values are.
pub(super) fn kind_of<'v>(values: impl Iterator<Item = &'v Value>) -> Kind {
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
        return Kind::Empty;
    }
    match counts.iter().position(|count| all < count * 2) {
        Some(0) => Kind::Records,
        Some(1) => Kind::Numbers,
        Some(2) => Kind::Texts,
        Some(3) => Kind::Booleans,
        _ => Kind::List,
    }
}

/// Whether an object is a table by key: records that share most of their fields, or numbers under days or proper names.
fn is_keyed(fields: &Object) -> bool {
    let mut values = fields.values();
    match values.next() {
        Some(Value::Object(first)) if 2 <= fields.len() => values.all(|value| {
            value.as_object().is_some_and(|other| {
                let shared = first
                    .keys()
                    .filter(|key| other.contains_key(&***key))
                    .count();
                0 < shared && first.len().max(other.len()) <= shared * 2
            })
        }),
        Some(_) if FEWEST <= fields.len() => {
            let mut all = fields.values();
            all.all(|value| matches!(value, Value::Number(_))) && are_names(fields)
        }
        _ => false,
    }
}

/// Whether keys are rather data than names of fields: days, or words that few programs would begin a field with.
fn are_names(fields: &Object) -> bool {
    let is_proper = |key: &str| {
        key.starts_with(|letter: char| {
            letter.is_uppercase() || letter.is_ascii_digit() || !letter.is_ascii()
        }) && !is_label(key)
    };
    // `Width` and `Height` are fields in some languages.
    let is_field = |key: &str| 3 < key.len() && key.bytes().all(|byte| byte.is_ascii_alphabetic());
    fields.keys().all(|key| moment::day_of_text(key).is_some())
        || fields.keys().all(|key| is_proper(key))
            && (3 < fields.len() || !fields.keys().all(|key| is_field(key)))
}
