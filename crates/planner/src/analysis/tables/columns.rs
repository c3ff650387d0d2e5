//! A table the other way round: each field with what all records have there.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::table::{RowKey, Table, join_pointer};
use crate::analysis::analyze::MAX_TEXT;
use crate::analysis::clipped;
use crate::analysis::report::ValueKind;

/// The most fields that are looked at.
const MAX_FIELDS: usize = 50;

/// How many records deep fields are looked for.
const MAX_DEPTH: usize = 3;

/// The fields of a table, in the order in which they first appear.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) table: &'a Table<'a>,
    /// How many records there are.
    pub(crate) records: usize,
    /// How many rows are no records.
    pub(crate) others: usize,
    fields: IndexMap<Path<'a>, Column<'a>>,
    left_out: HashSet<Path<'a>>,
}

/// The names that lead to a field.
type Path<'a> = [Option<&'a Arc<str>>; MAX_DEPTH];

/// What all records have in one field.
#[derive(Debug, Default)]
pub(crate) struct Column<'a> {
    /// The field's name, with a dot if it is in a record of its own; empty if the row itself is meant.
    pub(crate) name: String,
    /// The name of the list that the row is in, if the row itself is meant.
    list: String,
    /// The pointer from the row to it.
    pub(crate) pointer: String,
    /// The rows that have `null`.
    pub(crate) null: Vec<usize>,
    /// Its values, with the number of the row.
    pub(crate) entries: Vec<(usize, &'a Value)>,
}

impl Column<'_> {
    /// The name that tells what the values are.
    pub(crate) fn role(&self) -> &str {
        if self.name.is_empty() {
            &self.list
        } else {
            &self.name
        }
    }
}

impl<'a> Columns<'a> {
    /// The fields of a table's rows: those of records, or the rows themselves if they are no records.
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
                    columns.take(number, fields, [None; MAX_DEPTH], 0);
                }
                // NumberStatistics may be written as texts, and a few numbers be among texts.
                (value @ (Value::Number(_) | Value::Text(_)), ValueKind::Numbers | ValueKind::Texts)
                | (value @ Value::Bool(_), ValueKind::Booleans) => own.entries.push((number, value)),
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

    /// How many fields were not looked at.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// The name of a row: its key, or the id or name of the record that it is.
    pub(crate) fn name_of(&self, row: usize) -> Option<String> {
        let row = self.table.rows.get(row)?;
        match row.key {
            RowKey::Name(key) => Some(clipped(key, MAX_TEXT)),
            RowKey::Index(_) | RowKey::Whole => name_of(row.value.as_object()?),
        }
    }

    /// Leaves rows out of all fields.
    pub(crate) fn remove(&mut self, rows: &HashSet<usize>) {
        self.records -= rows.len();
        for column in self.fields.values_mut() {
            column.entries.retain(|(row, _)| !rows.contains(row));
            column.null.retain(|row| !rows.contains(row));
        }
    }

    fn take(&mut self, number: usize, fields: &'a Object, path: Path<'a>, depth: usize) {
        for (name, value) in fields {
            let mut path = path;
            path[depth] = Some(name);
            match value {
                Value::Object(inner) if depth + 1 < MAX_DEPTH => {
                    self.take(number, inner, path, depth + 1);
                }
                _ => self.put(number, path, value),
            }
        }
    }

    fn put(&mut self, number: usize, path: Path<'a>, value: &'a Value) {
        if !self.fields.contains_key(&path) {
            if MAX_FIELDS <= self.fields.len() {
                self.left_out.insert(path);
                return;
            }
            let names = || path.iter().flatten().map(|name| &***name);
            let column = Column {
                name: names().collect::<Vec<_>>().join("."),
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

/// The name of a record: its id, else its name.
fn name_of(record: &Object) -> Option<String> {
    const NAMES: &[&str] = &[
        "id", "_id", "uuid", "key", "name", "title", "label", "code", "email",
    ];
    NAMES.iter().find_map(|name| match record.get(*name)? {
        Value::Text(text) if !text.is_empty() => Some(clipped(text, MAX_TEXT)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
