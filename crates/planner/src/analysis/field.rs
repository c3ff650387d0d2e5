//! Figures of all fields of a table.

use std::collections::{HashMap, HashSet};

use planwright_core::Value;

use super::amount::Amount;
use super::collect::told;
use super::column::{Column, Columns};
use super::date;
use super::decimal::Decimal;
use super::field_name::{is_id, says_unit_of};
use super::group;
use super::moment::{self, Found};
use super::quantity::{InUnit, Quantities};
use super::report::{Booleans, Duplicate, Duplicates, Field, Numbers, ReadAs, TotalRow, Unread};
use super::spread;
use super::total;

/// The most ids that are named that come more than once.
const DUPLICATES: usize = 5;

/// Texts that are truth values.
const FLAGS: &[(&str, bool)] = &[
    ("true", true),
    ("false", false),
    ("yes", true),
    ("no", false),
];

/// A value as it is told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key<'a> {
    Bool(bool),
    Number(Decimal),
    Real(u64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Text(text) => Self::Text(text),
            Value::Number(_) => match Amount::of(value)? {
                Amount::Exact(number) | Amount::Rounded(number) => Self::Number(number),
                Amount::Real(value) => Self::Real(value.to_bits()),
            },
            _ => return None,
        })
    }
}

/// A field with what its values were read as.
pub(super) struct Series<'c, 'a> {
    pub(super) column: &'c Column<'a>,
    pub(super) quantities: Option<Quantities>,
    pub(super) moments: Option<Found>,
    /// The truth value of each row that has one.
    pub(super) flags: Vec<(usize, bool)>,
}

impl<'c, 'a> Series<'c, 'a> {
    fn of(column: &'c Column<'a>) -> Self {
        let moments = moment::of(column);
        let quantities = if moments.is_some() {
            None
        } else {
            Quantities::of(column)
        };
        Self {
            quantities,
            moments,
            flags: flags(column),
            column,
        }
    }
}

/// All fields of a table, and the rows that were left out since they sum up others.
pub(super) fn fields(mut columns: Columns<'_>) -> (Vec<Field>, Vec<TotalRow>) {
    let mut series: Vec<Series<'_, '_>> = columns.iter().map(Series::of).collect();
    let totals = total::find(&columns, &series);
    if !totals.is_empty() {
        drop(series);
        columns.remove(&totals.iter().map(|(row, _)| *row).collect::<HashSet<_>>());
        series = columns.iter().map(Series::of).collect();
    }
    for one in &mut series {
        let Some(quantities) = &mut one.quantities else {
            continue;
        };
        let beside = columns
            .iter()
            .find(|beside| says_unit_of(&beside.name, &one.column.name).is_some());
        if let Some(beside) = beside {
            quantities.take_units(beside);
        }
        if says_unit_of("currency", one.column.role()).is_some() {
            quantities.take_currencies(columns.table);
        }
        if quantities.has_too_many_units() {
            one.quantities = None;
        }
    }
    let mut fields: Vec<Field> = series
        .iter()
        .map(|series| field(series, &columns))
        .collect();
    date::add_trends(&series, &mut fields);
    group::add_figures(&series, &mut fields);
    (fields, totals.into_iter().map(|(_, total)| total).collect())
}

fn field(series: &Series<'_, '_>, columns: &Columns<'_>) -> Field {
    let column = series.column;
    let mut counts: HashMap<Key<'_>, usize> = HashMap::new();
    let mut lengths = Vec::new();
    for (number, value) in &column.entries {
        if let Some(key) = Key::of(value) {
            *counts.entry(key).or_default() += 1;
        }
        if let Value::List(items) = value {
            lengths.push((*number, Amount::whole(items.len())));
        }
    }
    let place = |item: usize| {
        let place = format!("{}{}", columns.table.place(item), column.pointer);
        (place, columns.name_of(item))
    };
    let dates = date::dates(series);
    let numeric_texts = series.quantities.as_ref().map_or(0, |read| read.texts);
    let is_grouped = series.moments.is_none()
        && numeric_texts == 0
        && series.flags.is_empty()
        && !is_id(&column.name);
    let true_count = series.flags.iter().filter(|(_, flag)| *flag).count();
    let mut field = Field {
        at: format!("{}{}", columns.table.at, column.pointer),
        name: column.name.clone(),
        present: column.entries.len(),
        null: column.null.len(),
        missing: columns.records - column.entries.len() - column.null.len(),
        distinct: counts.len(),
        numbers: None,
        by_unit: Vec::new(),
        numeric_texts,
        read_as: None,
        unread: Unread::default(),
        unclear: Unread::default(),
        lengths: spread::numbers(None, true, &lengths, &place),
        booleans: (!series.flags.is_empty()).then_some(Booleans {
            r#true: true_count,
            r#false: series.flags.len() - true_count,
        }),
        dates,
        groups: is_grouped.then(|| group::groups(column, &counts)).flatten(),
        duplicates: is_id(&column.name)
            .then(|| duplicates(column, &counts, &|row| place(row).0))
            .flatten(),
    };
    match &series.moments {
        Some(Found::Days(moments)) => field.unread = moments.unread.clone(),
        Some(Found::Unclear(unclear)) => field.unclear = unclear.clone(),
        None => {}
    }
    if let Some(quantities) = &series.quantities {
        add_numbers(quantities, &mut field, &place);
    }
    field
}

fn add_numbers(
    quantities: &Quantities,
    field: &mut Field,
    place: &dyn Fn(usize) -> (String, Option<String>),
) {
    let mut by_unit: Vec<Numbers> = quantities
        .by_unit()
        .into_iter()
        .filter_map(|InUnit { unit, amounts }| {
            spread::numbers(unit, quantities.is_summed(unit), &amounts, place)
        })
        .collect();
    if by_unit.len() == 1 {
        field.numbers = by_unit.pop();
    } else {
        field.by_unit = by_unit;
    }
    field.read_as = quantities.example.as_ref().map(|(text, number)| ReadAs {
        text: text.clone(),
        number: Amount::Exact(*number),
    });
    field.unread = quantities.unread.clone();
    field.unclear = quantities.unclear.clone();
}

/// The truth values of a field, also those that are all written as `yes` and `no`.
fn flags(column: &Column<'_>) -> Vec<(usize, bool)> {
    let of_text = |text: &str| {
        let found = FLAGS
            .iter()
            .find(|(written, _)| written.eq_ignore_ascii_case(text.trim()));
        found.map(|(_, flag)| *flag)
    };
    let is_flag = |value: &Value| match value {
        Value::Bool(_) => true,
        other => other.as_text().and_then(of_text).is_some(),
    };
    let mut are_texts_flags = column.entries.iter().map(|(_, value)| is_flag(value));
    let takes_texts = are_texts_flags.all(|is_flag| is_flag);
    let flags = column
        .entries
        .iter()
        .filter_map(|(row, value)| match value {
            Value::Bool(flag) => Some((*row, *flag)),
            other if takes_texts => Some((*row, of_text(other.as_text()?)?)),
            _ => None,
        });
    flags.collect()
}

fn duplicates(
    column: &Column<'_>,
    counts: &HashMap<Key<'_>, usize>,
    place: &dyn Fn(usize) -> String,
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
            at: same().take(2).map(|(item, _)| place(*item)).collect(),
        })
    });
    Some(Duplicates {
        count: several.len(),
        examples: examples.collect(),
    })
}
