//! Columns: the transposed view of a table, each field with the values of all records.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::table::{RowKey, Table, join_pointer};
use crate::analysis::analyze::MAX_TEXT;
use crate::analysis::clipped;
use crate::analysis::report::ValueKind;

/// The number of fields that are analyzed.
const MAX_FIELDS: usize = 50;

/// The depth of nested records to which fields are found.
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
            RowKey::Name(key) => Some(clipped(key, MAX_TEXT)),
            RowKey::Index(_) | RowKey::Whole => name_of(row.value.as_object()?),
        }
    }

    /// Removes rows from all columns.
    pub(crate) fn remove(&mut self, rows: &HashSet<usize>) {
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
            let given = own
                .parse()
                .ok()
                .and_then(|at: usize| self.table.column_names.get(at));
            let column = Column {
                name: given.cloned().unwrap_or(own),
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
    NAMES.iter().find_map(|name| match record.get(*name)? {
        Value::Text(text) if !text.is_empty() => Some(clipped(text, MAX_TEXT)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
