//! Tables: related values from lists, lists of lists, and objects with similar fields; and their columns, the transposed
//! view: each field with the values of all records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use crate::analysis::analyze::MAX_TEXT;
use crate::analysis::clipped;
use crate::analysis::fields::field_name::is_label;
use crate::analysis::fields::parse_period;
use crate::analysis::report::ValueKind;

/// Maximum number of items of a table that are analyzed.
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
        // All rows have one pointer in figures about the whole table.
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
            // Lists before this one named no currency.
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
            // In this order, so that `~01` becomes `~1`.
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

/// Maximum number of fields that are analyzed.
const MAX_FIELDS: usize = 50;

/// Maximum depth of nested records to which fields are found.
const MAX_DEPTH: usize = 3;

/// The columns of a table, in order of first appearance.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) table: &'a Table<'a>,
    /// The number of records.
    pub(crate) records: usize,
    /// The number of rows of another kind.
    pub(crate) others: usize,
    fields: IndexMap<Path<'a>, Column<'a>>,
    left_out: HashSet<Path<'a>>,
}

/// The names that lead to a field.
type Path<'a> = [Option<&'a Arc<str>>; MAX_DEPTH];

/// The values of all records in one field.
#[derive(Debug, Default)]
pub(crate) struct Column<'a> {
    /// The field's name, dotted for nested records; empty for the row itself.
    pub(crate) name: String,
    /// The name of the list that contains the rows, for the row itself.
    list: String,
    /// The pointer from the row to the field.
    pub(crate) pointer: String,
    /// The rows with null.
    pub(crate) null: Vec<usize>,
    /// The other values with their rows.
    pub(crate) entries: Vec<(usize, &'a Value)>,
}

impl Column<'_> {
    /// Returns the name that indicates the role of the values.
    pub(crate) fn role(&self) -> &str {
        if self.name.is_empty() {
            &self.list
        } else {
            &self.name
        }
    }
}

impl<'a> Columns<'a> {
    /// Splits a table into the fields of its records, or into a single column of its rows.
    pub(crate) fn of(table: &'a Table<'a>, kind: ValueKind) -> Self {
        let mut columns = Self {
            table,
            records: 0,
            others: 0,
            fields: IndexMap::new(),
            left_out: HashSet::new(),
        };
        let mut own = Column {
            list: table.name(),
            ..Column::default()
        };
        for (number, row) in table.rows.iter().enumerate() {
            match (&*row.value, kind) {
                (Value::Object(fields), ValueKind::Records) => {
                    columns.add_record(number, fields, [None; MAX_DEPTH], 0);
                }
                // Columns of numbers may contain texts with numbers, and columns of texts a few numbers.
                (
                    value @ (Value::Number(_) | Value::Text(_)),
                    ValueKind::Numbers | ValueKind::Texts,
                )
                | (value @ Value::Bool(_), ValueKind::Booleans) => {
                    own.entries.push((number, value));
                }
                _ => {
                    columns.others += 1;
                    continue;
                }
            }
            columns.records += 1;
        }
        if !own.entries.is_empty() {
            columns.fields.insert([None; MAX_DEPTH], own);
        }
        columns
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Column<'a>> {
        self.fields.values()
    }

    /// Returns the number of fields that were not analyzed.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Returns the name of a row: its key, or the id or name in the record.
    pub(crate) fn name_of(&self, row: usize) -> Option<String> {
        let row = self.table.rows.get(row)?;
        match row.key {
            // In a table by key, the key is what the record is called.
            RowKey::Name(key) => Some(clipped(key, MAX_TEXT)),
            RowKey::Index(_) | RowKey::Whole => name_of(row.value.as_object()?),
        }
    }

    /// Removes rows from all columns.
    pub(crate) fn remove(&mut self, rows: &HashSet<usize>) {
        // The rows of the table stay, because columns refer to them by position.
        self.records -= rows.len();
        for column in self.fields.values_mut() {
            column.entries.retain(|(row, _)| !rows.contains(row));
            column.null.retain(|row| !rows.contains(row));
        }
    }

    fn add_record(&mut self, number: usize, fields: &'a Object, path: Path<'a>, depth: usize) {
        for (name, value) in fields {
            let mut path = path;
            path[depth] = Some(name);
            match value {
                Value::Object(inner) if depth + 1 < MAX_DEPTH => {
                    self.add_record(number, inner, path, depth + 1);
                }
                _ => self.add_value(number, path, value),
            }
        }
    }

    fn add_value(&mut self, number: usize, path: Path<'a>, value: &'a Value) {
        if !self.fields.contains_key(&path) {
            if MAX_FIELDS <= self.fields.len() {
                // A set, because most records have the field and it counts once.
                self.left_out.insert(path);
                return;
            }
            let names = || path.iter().flatten().map(|name| &***name);
            let own = names().collect::<Vec<_>>().join(".");
            // Rows that were lists have positions for names, and a header may name these.
            let named = own
                .parse()
                .ok()
                .and_then(|at: usize| self.table.column_names.get(at));
            let column = Column {
                name: named.cloned().unwrap_or(own),
                pointer: names().fold(String::new(), |pointer, name| join_pointer(&pointer, name)),
                ..Column::default()
            };
            self.fields.insert(path, column);
        }
        let Some(column) = self.fields.get_mut(&path) else {
            return;
        };
        match value {
            Value::Null => column.null.push(number),
            value => column.entries.push((number, value)),
        }
    }
}

/// Returns the id of a record, or else its name.
fn name_of(record: &Object) -> Option<String> {
    const NAMES: &[&str] = &[
        "id", "_id", "uuid", "key", "name", "title", "label", "code", "email",
    ];
    // In this order, since an id is unique and a name may not be.
    NAMES.iter().find_map(|name| match record.get(*name)? {
        Value::Text(text) if !text.is_empty() => Some(clipped(text, MAX_TEXT)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
