//! Groups of equal values in a field, and the figures of other fields per group.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use planwright_core::Value;

use super::field_figures::{FieldSeries, ValueKey};
use super::field_name::{is_entity, is_label};
use super::statistics::mean;
use crate::analysis::analyze::clip_value;
use crate::analysis::numbers::{Amount, Quantities, Quantity};
use crate::analysis::report::{BooleanCounts, FieldAnalysis, ValueGroup, ValueGroups};
use crate::analysis::tables::Column;

/// The number of groups that are listed.
const MAX_GROUPS: usize = 10;

/// The number of fields whose groups have figures, and the number of numeric and flag fields with figures per group.
const MAX_GROUPED_FIELDS: usize = 5;
const MAX_NUMBER_FIELDS: usize = 5;
const MAX_FLAG_FIELDS: usize = 5;

/// Groups a column by value; `None` unless values repeat at least twice on average.
pub(crate) fn groups(
    column: &Column<'_>,
    counts: &HashMap<ValueKey<'_>, usize>,
) -> Option<ValueGroups> {
    let values = counts.iter().filter(|(key, _)| is_grouped(key, column));
    let mut found: Vec<(ValueKey<'_>, usize)> = values.map(|(key, count)| (*key, *count)).collect();
    let total: usize = found.iter().map(|(_, count)| count).sum();
    if found.is_empty() || total < found.len() * 2 {
        return None;
    }
    // Ties are sorted by value, because the map has no order.
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let top: Vec<ValueGroup> = found
        .iter()
        .take(MAX_GROUPS)
        .filter_map(|(key, count)| {
            Some(ValueGroup {
                value: display_key(key),
                count: *count,
                share: Amount::ratio(*count, total)?,
                sums: IndexMap::new(),
                means: IndexMap::new(),
                units: IndexMap::new(),
                rates: IndexMap::new(),
            })
        })
        .collect();
    let listed: usize = top.iter().map(|group| group.count).sum();
    Some(ValueGroups {
        groups_left_out: found.len() - top.len(),
        records_left_out: total - listed,
        top,
    })
}

/// Returns true if a value can name a group. Booleans have counts of their own.
fn is_grouped(key: &ValueKey<'_>, column: &Column<'_>) -> bool {
    match key {
        ValueKey::Text(_) => true,
        ValueKey::Number(number) => {
            number.to_integer().is_some() && (is_label(column.role()) || is_entity(column.role()))
        }
        ValueKey::Bool(_) | ValueKey::Real(_) => false,
    }
}

fn display_key(key: &ValueKey<'_>) -> Value {
    match *key {
        ValueKey::Text(text) => clip_value(&Value::text(text)),
        ValueKey::Bool(value) => Value::Bool(value),
        ValueKey::Number(number) => number
            .to_integer()
            .and_then(|whole| i64::try_from(whole).ok())
            .map_or_else(
                || Value::text(number.to_string()),
                |whole| Value::Number(whole.into()),
            ),
        ValueKey::Real(bits) => Value::text(f64::from_bits(bits).to_string()),
    }
}

/// Adds figures of other fields to the groups of the first fields that have few groups.
pub(crate) fn add_group_figures(series: &[FieldSeries<'_, '_>], fields: &mut [FieldAnalysis]) {
    let others: Vec<MeasureColumn<'_>> = series.iter().filter_map(MeasureColumn::of).collect();
    // If groups are left out, figures of the remaining ones would look complete.
    let few = series.iter().zip(fields).filter_map(|(series, field)| {
        let groups = field.groups.as_mut()?;
        (groups.groups_left_out == 0).then_some((series.column, groups))
    });
    for (column, groups) in few.take(MAX_GROUPED_FIELDS) {
        let mut members: BTreeMap<ValueKey<'_>, Vec<usize>> = BTreeMap::new();
        for (row, value) in &column.entries {
            if let Some(key) = ValueKey::of(value) {
                members.entry(key).or_default().push(*row);
            }
        }
        // Both lists have the same order, so that a group finds its members although its text was cut.
        let mut of_groups: Vec<(&ValueKey<'_>, &Vec<usize>)> = members
            .iter()
            .filter(|(key, _)| is_grouped(key, column))
            .collect();
        of_groups.sort_by(|one, other| {
            let more = other.1.len().cmp(&one.1.len());
            more.then_with(|| one.0.cmp(other.0))
        });
        for (group, (_, rows)) in groups.top.iter_mut().zip(of_groups) {
            add_measures(group, rows, &others);
        }
    }
}

/// The numbers and flags of a field by row.
struct MeasureColumn<'s> {
    name: &'s str,
    quantities: Option<&'s Quantities>,
    numbers: HashMap<usize, &'s Quantity>,
    flags: HashMap<usize, bool>,
}

impl<'s> MeasureColumn<'s> {
    fn of(series: &'s FieldSeries<'_, '_>) -> Option<Self> {
        let entries = series.quantities.iter().flat_map(|read| &read.entries);
        let other = Self {
            name: &series.column.name,
            quantities: series.quantities.as_ref(),
            numbers: entries.map(|entry| (entry.row, entry)).collect(),
            flags: series.flags.iter().copied().collect(),
        };
        let has_any = !other.numbers.is_empty() || !other.flags.is_empty();
        (has_any && !other.name.is_empty()).then_some(other)
    }
}

/// Adds the figures of a group's rows: sums and means of numbers with one unit, and counts of flags.
fn add_measures(group: &mut ValueGroup, rows: &[usize], others: &[MeasureColumn<'_>]) {
    for other in others
        .iter()
        .filter(|other| !other.numbers.is_empty())
        .take(MAX_NUMBER_FIELDS)
    {
        let inside: Vec<&Quantity> = rows
            .iter()
            .filter_map(|row| other.numbers.get(row).copied())
            .collect();
        let (Some(read), Some(first)) = (other.quantities, inside.first()) else {
            continue;
        };
        let unit = read.unit_of(first);
        // Numbers in different units have no common sum.
        if inside.iter().any(|entry| read.unit_of(entry) != unit) {
            continue;
        }
        let mut amounts: Vec<Amount> = inside.iter().map(|entry| entry.amount).collect();
        // In sorted order, a rounded sum does not depend on the order of the records.
        amounts.sort_by(Amount::compare);
        let name = other.name.to_owned();
        if let Some(unit) = unit {
            group.units.insert(name.clone(), unit.to_owned());
        }
        let sum = Amount::sum(&amounts);
        if let Some(mean) = mean(&amounts, sum) {
            group.means.insert(name.clone(), mean);
        }
        if let Some(sum) = sum.filter(|_| read.is_summed(unit)) {
            group.sums.insert(name, sum);
        }
    }
    for other in others
        .iter()
        .filter(|other| !other.flags.is_empty())
        .take(MAX_FLAG_FIELDS)
    {
        let inside: Vec<bool> = rows
            .iter()
            .filter_map(|row| other.flags.get(row).copied())
            .collect();
        let set = inside.iter().filter(|flag| **flag).count();
        if !inside.is_empty() {
            let counts = BooleanCounts {
                r#true: set,
                r#false: inside.len() - set,
            };
            group.rates.insert(other.name.to_owned(), counts);
        }
    }
}
