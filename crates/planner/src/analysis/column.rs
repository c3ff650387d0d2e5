//! A table the other way round: each field with what all records have there.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::clipped;
use super::collect::TEXT;
use super::quote::joined;
use super::report::Kind;
use super::table::{Own, Table};

/// The most fields that are looked at.
const FIELDS: usize = 50;

/// How many records deep fields are looked for.
const DEPTH: usize = 3;

/// The fields of a table, in the order in which they first appear.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    pub(super) table: &'a Table<'a>,
    /// How many records there are.
    pub(super) records: usize,
    /// How many rows are no records.
    pub(super) others: usize,
    fields: IndexMap<Path<'a>, Column<'a>>,
    left_out: HashSet<Path<'a>>,
}

/// The names that lead to a field.
type Path<'a> = [Option<&'a Arc<str>>; DEPTH];

/// What all records have in one field.
#[derive(Debug, Default)]
pub(super) struct Column<'a> {
    /// The field's name, with a dot if it is in a record of its own; empty if the row itself is meant.
    pub(super) name: String,
    /// The name of the list that the row is in, if the row itself is meant.
    list: String,
    /// The pointer from the row to it.
    pub(super) pointer: String,
    /// The rows that have `null`.
    pub(super) null: Vec<usize>,
    /// Its values, with the number of the row.
    pub(super) entries: Vec<(usize, &'a Value)>,
}

impl Column<'_> {
    /// The name that tells what the values are.
    pub(super) fn role(&self) -> &str {
        if self.name.is_empty() {
            &self.list
        } else {
            &self.name
        }
    }
}

impl<'a> Columns<'a> {
    /// The fields of a table's rows: those of records, or the rows themselves if they are no records.
    pub(super) fn of(table: &'a Table<'a>, kind: Kind) -> Self {
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
                (Value::Object(fields), Kind::Records) => {
                    columns.take(number, fields, [None; DEPTH], 0);
                }
                // Numbers may be written as texts, and a few numbers be among texts.
                (value @ (Value::Number(_) | Value::Text(_)), Kind::Numbers | Kind::Texts)
                | (value @ Value::Bool(_), Kind::Booleans) => own.entries.push((number, value)),
                _ => {
                    columns.others += 1;
                    continue;
                }
            }
            columns.records += 1;
        }
        if !own.entries.is_empty() {
            columns.fields.insert([None; DEPTH], own);
        }
        columns
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Column<'a>> {
        self.fields.values()
    }

    /// How many fields were not looked at.
    pub(super) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// The name of a row: its key, or the id or name of the record that it is.
    pub(super) fn name_of(&self, row: usize) -> Option<String> {
        let row = self.table.rows.get(row)?;
        match row.own {
            Own::Key(key) => Some(clipped(key, TEXT)),
            Own::Index(_) | Own::Whole => name_of(row.value.as_object()?),
        }
    }

    /// Leaves rows out of all fields.
    pub(super) fn remove(&mut self, rows: &HashSet<usize>) {
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
                Value::Object(inner) if depth + 1 < DEPTH => {
                    self.take(number, inner, path, depth + 1);
                }
                _ => self.put(number, path, value),
            }
        }
    }

    fn put(&mut self, number: usize, path: Path<'a>, value: &'a Value) {
        if !self.fields.contains_key(&path) {
            if FIELDS <= self.fields.len() {
                self.left_out.insert(path);
                return;
            }
            let names = || path.iter().flatten().map(|name| &***name);
            let column = Column {
                name: names().collect::<Vec<_>>().join("."),
                pointer: names().fold(String::new(), |pointer, name| joined(&pointer, name)),
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
        Value::Text(text) if !text.is_empty() => Some(clipped(text, TEXT)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
