//! What all records have in one field.

use std::collections::HashMap;

use planwright_core::Value;

use super::amount::Amount;
use super::collect::told;
use super::column::{Column, Columns};
use super::date;
use super::group;
use super::report::{Booleans, Duplicate, Duplicates, Field, Numbers};
use super::spread;

/// The most ids that are told which come more than once.
const DUPLICATES: usize = 5;

/// Names of fields whose values name a record.
const IDS: &[&str] = &["id", "_id", "uuid", "guid"];

/// Names of fields whose numbers are names as well, and say nothing when they are added up.
const LABELS: &[&str] = &[
    "code", "index", "key", "month", "number", "phone", "position", "postcode", "status",
    "version", "weekday", "year", "zip",
];

/// What a value is, to tell it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key<'a> {
    Bool(bool),
    Whole(i128),
    Real(u64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Text(text) => Self::Text(text),
            Value::Number(_) => match Amount::of(value)? {
                Amount::Whole(value) => Self::Whole(value),
                Amount::Real(value) => Self::Real((value + 0.0).to_bits()),
            },
            _ => return None,
        })
    }
}

/// All fields of a list.
pub(super) fn fields(columns: &Columns<'_>, at: &str) -> Vec<Field> {
    let mut fields: Vec<Field> = columns
        .iter()
        .map(|column| field(column, columns, at))
        .collect();
    date::add_trends(columns, &mut fields);
    group::add_sums(columns, &mut fields);
    fields
}

fn field(column: &Column<'_>, columns: &Columns<'_>, at: &str) -> Field {
    let mut counts: HashMap<Key<'_>, usize> = HashMap::new();
    let mut booleans = Booleans {
        r#true: 0,
        r#false: 0,
    };
    let mut lengths = Vec::new();
    for (number, value) in &column.entries {
        if let Some(key) = Key::of(value) {
            *counts.entry(key).or_default() += 1;
        }
        match value {
            Value::Bool(true) => booleans.r#true += 1,
            Value::Bool(false) => booleans.r#false += 1,
            Value::List(items) => {
                lengths.push((
                    *number,
                    Amount::Whole(i128::try_from(items.len()).unwrap_or(i128::MAX)),
                ));
            }
            _ => {}
        }
    }
    let dates = date::dates(column);
    let groups = (dates.is_none() && !is_id(&column.name))
        .then(|| group::groups(column, &counts))
        .flatten();
    Field {
        at: format!("{at}/*{}", column.pointer),
        name: column.name.clone(),
        present: column.entries.len(),
        null: column.null,
        missing: columns.records - column.entries.len() - column.null,
        distinct: counts.len(),
        numbers: numbers(&amounts(column), column, columns, at),
        lengths: numbers(&lengths, column, columns, at),
        booleans: (booleans.r#true + booleans.r#false > 0).then_some(booleans),
        dates,
        groups,
        duplicates: is_id(&column.name)
            .then(|| duplicates(column, &counts, at))
            .flatten(),
    }
}

/// The numbers of a field that are worth adding up, each with the number of its item.
pub(super) fn amounts(column: &Column<'_>) -> Vec<(usize, Amount)> {
    if is_label(&column.name) {
        return Vec::new();
    }
    let entries = column.entries.iter();
    entries
        .filter_map(|(number, value)| Some((*number, Amount::of(value)?)))
        .collect()
}

fn numbers(
    amounts: &[(usize, Amount)],
    column: &Column<'_>,
    columns: &Columns<'_>,
    at: &str,
) -> Option<Numbers> {
    spread::numbers(amounts, &|item| {
        let place = format!("{at}/{item}{}", column.pointer);
        (place, columns.name_of(item))
    })
}

fn duplicates(
    column: &Column<'_>,
    counts: &HashMap<Key<'_>, usize>,
    at: &str,
) -> Option<Duplicates> {
    let mut several: Vec<(Key<'_>, usize)> = counts
        .iter()
        .filter(|(_, times)| 1 < **times)
        .map(|(key, times)| (*key, *times))
        .collect();
    if several.is_empty() {
        return None;
    }
    several.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let examples = several.iter().take(DUPLICATES).filter_map(|(key, times)| {
        let same = || {
            let entries = column.entries.iter();
            entries.filter(|(_, value)| Key::of(value) == Some(*key))
        };
        Some(Duplicate {
            value: told(same().next()?.1),
            times: *times,
            at: same()
                .take(2)
                .map(|(item, _)| format!("{at}/{item}{}", column.pointer))
                .collect(),
        })
    });
    Some(Duplicates {
        count: several.len(),
        examples: examples.collect(),
    })
}

fn is_id(name: &str) -> bool {
    IDS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether the numbers of a field are names of something.
pub(super) fn is_label(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let lower = last.to_ascii_lowercase();
    is_id(last)
        || LABELS.contains(&lower.as_str())
        || lower.ends_with("_id")
        || last.ends_with("Id")
        || last.ends_with("ID")
}
