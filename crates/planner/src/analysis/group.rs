//! What comes again and again in a field, and what other fields come to in each such group.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use planwright_core::Value;

use super::amount::Amount;
use super::collect::told;
use super::column::{Column, Columns};
use super::field::{Key, amounts, is_label};
use super::report::{Field, Group, Groups};

/// The most groups that are told.
const GROUPS: usize = 10;

/// The most fields whose groups have sums, and the most fields that are added up.
const SUMMED: usize = 5;

/// The groups of a field whose values come again and again.
pub(super) fn groups(column: &Column<'_>, counts: &HashMap<Key<'_>, usize>) -> Option<Groups> {
    let values = counts.iter().filter(|(key, _)| is_grouped(key, column));
    let mut found: Vec<(Key<'_>, usize)> = values.map(|(key, count)| (*key, *count)).collect();
    let total: usize = found.iter().map(|(_, count)| count).sum();
    if found.is_empty() || total < found.len() * 2 {
        return None;
    }
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let top: Vec<Group> = found
        .iter()
        .take(GROUPS)
        .filter_map(|(key, count)| {
            Some(Group {
                value: value(key),
                count: *count,
                share: share(*count, total)?,
                sums: IndexMap::new(),
            })
        })
        .collect();
    let told: usize = top.iter().map(|group| group.count).sum();
    Some(Groups {
        groups_left_out: found.len() - top.len(),
        records_left_out: total - told,
        top,
    })
}

/// Whether a value names a group. Two truth values need no table.
fn is_grouped(key: &Key<'_>, column: &Column<'_>) -> bool {
    match key {
        Key::Text(_) => true,
        Key::Whole(_) => is_label(&column.name),
        Key::Bool(_) | Key::Real(_) => false,
    }
}

fn value(key: &Key<'_>) -> Value {
    match *key {
        Key::Text(text) => told(&Value::text(text)),
        Key::Bool(value) => Value::Bool(value),
        Key::Whole(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Value::Number(value.into()),
            (_, Ok(value)) => Value::Number(value.into()),
            _ => Value::text(value.to_string()),
        },
        Key::Real(bits) => Value::text(f64::from_bits(bits).to_string()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn share(count: usize, total: usize) -> Option<Amount> {
    Some(Amount::computed(count as f64 / total as f64)?.rough())
}

/// Adds to the groups of the first fields that have few what their records have in fields of numbers.
pub(super) fn add_sums(columns: &Columns<'_>, fields: &mut [Field]) {
    let summed: Vec<(&Column<'_>, HashMap<usize, Amount>)> = columns
        .iter()
        .map(|column| {
            (
                column,
                amounts(column).into_iter().collect::<HashMap<_, _>>(),
            )
        })
        .filter(|(column, amounts)| !amounts.is_empty() && !column.name.is_empty())
        .take(SUMMED)
        .collect();
    if summed.is_empty() {
        return;
    }
    let few = columns.iter().zip(fields).filter_map(|(column, field)| {
        let groups = field.groups.as_mut()?;
        (groups.groups_left_out == 0).then_some((column, groups))
    });
    for (column, groups) in few.take(SUMMED) {
        let mut members: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
        for (item, value) in &column.entries {
            if let Some(key) = Key::of(value) {
                members.entry(key).or_default().push(*item);
            }
        }
        // Both are in one order, so each group finds its members although its text was cut.
        let mut of_groups: Vec<(&Key<'_>, &Vec<usize>)> = members
            .iter()
            .filter(|(key, _)| is_grouped(key, column))
            .collect();
        of_groups.sort_by(|one, other| {
            let more = other.1.len().cmp(&one.1.len());
            more.then_with(|| one.0.cmp(other.0))
        });
        for (group, (_, items)) in groups.top.iter_mut().zip(of_groups) {
            for (other, amounts) in &summed {
                let mut inside: Vec<Amount> = items
                    .iter()
                    .filter_map(|item| amounts.get(item).copied())
                    .collect();
                inside.sort_by(Amount::order);
                if let Some(sum) = Amount::sum(&inside).filter(|_| !inside.is_empty()) {
                    group.sums.insert(other.name.clone(), sum);
                }
            }
        }
    }
}
