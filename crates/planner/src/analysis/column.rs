//! A list of records the other way round: each field with what all records have there.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::collect::name_of;
use super::report::Kind;

/// The most fields that are looked at.
const FIELDS: usize = 50;

/// The fields of a list of records, in the order in which they first appear.
#[derive(Debug, Default)]
pub(super) struct Columns<'a> {
    pub(super) items: &'a [Value],
    /// How many records there are.
    pub(super) records: usize,
    /// How many items are no records.
    pub(super) others: usize,
    fields: IndexMap<Path<'a>, Column<'a>>,
    left_out: HashSet<Path<'a>>,
}

/// The names that lead to a field.
type Path<'a> = (Option<&'a Arc<str>>, Option<&'a Arc<str>>);

/// What all records have in one field.
#[derive(Debug, Default)]
pub(super) struct Column<'a> {
    /// The field's name, with a dot where it is in a record of its own; nothing where the item itself is meant.
    pub(super) name: String,
    /// The way from the item to it, as a pointer.
    pub(super) pointer: String,
    /// How many have `null`.
    pub(super) null: usize,
    /// What is there, with the number of the item.
    pub(super) entries: Vec<(usize, &'a Value)>,
}

impl<'a> Columns<'a> {
    /// The fields of those items that are records.
    pub(super) fn of_records(items: &'a [Value]) -> Self {
        let mut columns = Self {
            items,
            ..Self::default()
        };
        for (number, item) in items.iter().enumerate() {
            let Value::Object(fields) = item else {
                columns.others += 1;
                continue;
            };
            columns.records += 1;
            columns.take(number, fields, None);
        }
        columns
    }

    /// The items that are of the kind that most are of, as the one field.
    pub(super) fn of_items(items: &'a [Value], kind: Kind) -> Self {
        let mut column = Column::default();
        let mut others = 0;
        for (number, item) in items.iter().enumerate() {
            let is_meant = match item {
                Value::Number(_) => kind == Kind::Numbers,
                Value::Text(_) => kind == Kind::Texts,
                Value::Bool(_) => kind == Kind::Booleans,
                _ => false,
            };
            if is_meant {
                column.entries.push((number, item));
            } else {
                others += 1;
            }
        }
        Self {
            items,
            records: items.len() - others,
            others,
            fields: IndexMap::from([((None, None), column)]),
            left_out: HashSet::new(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Column<'a>> {
        self.fields.values()
    }

    /// How many fields were not looked at.
    pub(super) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// What an item is called, if it is a record with a name.
    pub(super) fn name_of(&self, item: usize) -> Option<String> {
        name_of(self.items.get(item)?.as_object()?)
    }

    fn take(&mut self, number: usize, fields: &'a Object, outer: Option<&'a Arc<str>>) {
        for (name, value) in fields {
            match value {
                Value::Object(inner) if outer.is_none() => {
                    self.take(number, inner, Some(name));
                }
                _ => self.put(number, outer, name, value),
            }
        }
    }

    fn put(
        &mut self,
        number: usize,
        outer: Option<&'a Arc<str>>,
        name: &'a Arc<str>,
        value: &'a Value,
    ) {
        let path = (outer, Some(name));
        if !self.fields.contains_key(&path) {
            if FIELDS <= self.fields.len() {
                self.left_out.insert(path);
                return;
            }
            let (full, pointer) = match outer {
                Some(outer) => (format!("{outer}.{name}"), joined(&joined("", outer), name)),
                None => (name.to_string(), joined("", name)),
            };
            let column = Column {
                name: full,
                pointer,
                ..Column::default()
            };
            self.fields.insert(path, column);
        }
        let Some(column) = self.fields.get_mut(&path) else {
            return;
        };
        match value {
            Value::Null => column.null += 1,
            value => column.entries.push((number, value)),
        }
    }
}

/// A pointer and one step more.
pub(super) fn joined(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
