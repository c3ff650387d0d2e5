//! The figures of all fields of a table, without the rows that summarize others: `Total`, `Subtotal`, `Gesamt`, `Average`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use planwright_core::Value;

use super::days::DayReading;
use super::field_name::{is_id, is_money_beside, unit_kind_for};
use super::field_series::{FieldSeries, ValueKey};
use super::statistics::{add_group_figures, groups, number_statistics};
use super::timeline::{add_trends, date_statistics};
use crate::analysis::analyze::clip_value;
use crate::analysis::numbers::{Amount, Decimal, Quantities, UnitGroup, is_currency_code};
use crate::analysis::report::{
    BooleanCounts, DuplicateId, DuplicateIds, FieldAnalysis, NumberStatistics, ParsedExample,
    TotalRow, UnparsedValues,
};
use crate::analysis::tables::{Column, Columns, RowKey};

/// Maximum number of duplicate ids that are listed.
const MAX_DUPLICATES: usize = 5;

/// Analyzes all fields of a table, and returns the total rows that were excluded.
pub(crate) fn analyze_fields(mut columns: Columns<'_>) -> (Vec<FieldAnalysis>, Vec<TotalRow>) {
    let mut series: Vec<FieldSeries<'_, '_>> = columns.iter().map(FieldSeries::of).collect();
    let totals = find_totals(&columns, &series);
    if !totals.is_empty() {
        // The series borrow the columns, and are parsed again without the total rows.
        drop(series);
        columns.remove(&totals.iter().map(|(row, _)| *row).collect::<HashSet<_>>());
        series = columns.iter().map(FieldSeries::of).collect();
    }
    for one in &mut series {
        let Some(quantities) = &mut one.quantities else {
            continue;
        };
        // A currency or unit in a separate field applies to the numbers of the same record.
        let name = &one.column.name;
        let beside = columns
            .iter()
            .find(|beside| unit_kind_for(&beside.name, name).is_some())
            .or_else(|| {
                let mut beside = columns.iter();
                beside.find(|beside| {
                    is_money_beside(&beside.name, name) && has_currency_codes(beside)
                })
            });
        if let Some(beside) = beside {
            quantities.assign_units(beside);
        }
        if unit_kind_for("currency", one.column.role()).is_some() {
            quantities.assign_currencies(columns.table);
        }
        // With that many distinct values, the other field is not a unit.
        if quantities.has_too_many_units() {
            one.quantities = None;
        }
    }
    let mut fields: Vec<FieldAnalysis> = series
        .iter()
        .map(|series| analyze_field(series, &columns))
        .collect();
    add_trends(&series, &mut fields);
    add_group_figures(&series, &mut fields);
    (fields, totals.into_iter().map(|(_, total)| total).collect())
}

/// Returns true if all values of a column are codes of currencies.
fn has_currency_codes(column: &Column<'_>) -> bool {
    let is_code = |(_, value): &(usize, &Value)| value.as_text().is_some_and(is_currency_code);
    !column.entries.is_empty() && column.entries.iter().all(is_code)
}

fn analyze_field(series: &FieldSeries<'_, '_>, columns: &Columns<'_>) -> FieldAnalysis {
    let column = series.column;
    let mut counts: HashMap<ValueKey<'_>, usize> = HashMap::new();
    let mut lengths = Vec::new();
    for (number, value) in &column.entries {
        if let Some(key) = ValueKey::of(value) {
            *counts.entry(key).or_default() += 1;
        }
        if let Value::List(items) = value {
            lengths.push((*number, Amount::from_count(items.len())));
        }
    }
    let locate = |item: usize| {
        let pointer = format!("{}{}", columns.table.pointer(item), column.pointer);
        (pointer, columns.name_of(item))
    };
    let dates = date_statistics(series);
    let numeric_texts = series.quantities.as_ref().map_or(0, |read| read.texts);
    // Days, numbers in texts, flags, and ids have separate figures.
    let is_grouped = series.day_values.is_none()
        && numeric_texts == 0
        && series.flags.is_empty()
        && !is_id(&column.name);
    let true_count = series.flags.iter().filter(|(_, flag)| *flag).count();
    let mut field = FieldAnalysis {
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
        unread: UnparsedValues::default(),
        unclear: UnparsedValues::default(),
        lengths: number_statistics(None, true, &lengths, &locate),
        booleans: (!series.flags.is_empty()).then_some(BooleanCounts {
            r#true: true_count,
            r#false: series.flags.len() - true_count,
        }),
        dates,
        groups: is_grouped.then(|| groups(column, &counts)).flatten(),
        duplicates: is_id(&column.name)
            .then(|| duplicates(column, &counts, &|row| locate(row).0))
            .flatten(),
    };
    match &series.day_values {
        Some(DayReading::Days(day_values)) => field.unread = day_values.unread.clone(),
        Some(DayReading::Ambiguous(unclear)) => field.unclear = unclear.clone(),
        None => {}
    }
    if let Some(quantities) = &series.quantities {
        add_numbers(quantities, &mut field, &locate);
    }
    field
}

fn add_numbers(
    quantities: &Quantities,
    field: &mut FieldAnalysis,
    locate: &dyn Fn(usize) -> (String, Option<String>),
) {
    let mut by_unit: Vec<NumberStatistics> = quantities
        .by_unit()
        .into_iter()
        .filter_map(|UnitGroup { unit, amounts }| {
            number_statistics(unit, quantities.is_summed(unit), &amounts, locate)
        })
        .collect();
    if by_unit.len() == 1 {
        field.numbers = by_unit.pop();
    } else {
        field.by_unit = by_unit;
    }
    field.read_as = quantities
        .example
        .as_ref()
        .map(|(text, number)| ParsedExample {
            text: text.clone(),
            number: Amount::Exact(*number),
        });
    field.unread = quantities.unread.clone();
    field.unclear = quantities.unclear.clone();
}

fn duplicates(
    column: &Column<'_>,
    counts: &HashMap<ValueKey<'_>, usize>,
    locate: &dyn Fn(usize) -> String,
) -> Option<DuplicateIds> {
    let mut several: Vec<(ValueKey<'_>, usize)> = counts
        .iter()
        .filter(|(_, times)| 1 < **times)
        .map(|(key, times)| (*key, *times))
        .collect();
    if several.is_empty() {
        return None;
    }
    // Equal counts are sorted by value, because the order of a hash map is arbitrary.
    several.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let examples = several
        .iter()
        .take(MAX_DUPLICATES)
        .filter_map(|(key, times)| {
            let same = || {
                let entries = column.entries.iter();
                entries.filter(|(_, value)| ValueKey::of(value) == Some(*key))
            };
            Some(DuplicateId {
                value: clip_value(same().next()?.1),
                times: *times,
                at: same().take(2).map(|(item, _)| locate(*item)).collect(),
            })
        });
    Some(DuplicateIds {
        count: several.len(),
        examples: examples.collect(),
    })
}

/// Names of total rows.
const TOTAL_NAMES: &[&str] = &[
    "all",
    "average",
    "avg",
    "combined",
    "durchschnitt",
    "mean",
    "mittelwert",
    "endsumme",
    "gesamt",
    "gesamtsumme",
    "grand total",
    "insgesamt",
    "overall",
    "somme",
    "sub total",
    "subtotal",
    "sum",
    "summe",
    "sums",
    "total",
    "totale",
    "totals",
    "zwischensumme",
    "Σ",
    "合計",
    "合计",
    "итого",
];

/// Words with which names of total rows begin or end: `Total EU`, `Summe Berlin`.
const TOTAL_WORDS: &[&str] = &[
    "average",
    "gesamt",
    "mean",
    "subtotal",
    "sum",
    "summe",
    "total",
    "zwischensumme",
];

/// Minimum number of rows that a total row summarizes.
const MIN_SUMMANDS: usize = 2;

/// A row with the name of a total row.
struct TotalCandidate {
    row: usize,
    name: String,
    is_exact: bool,
}

/// Finds total rows, and returns them with their row numbers. A row is one if it has the name of a total and its numbers are the
/// sums or means of all others or of those since the previous total, or if it has exactly such a name at an end of the table.
fn find_totals(columns: &Columns<'_>, series: &[FieldSeries<'_, '_>]) -> Vec<(usize, TotalRow)> {
    let candidates = candidates(columns);
    let count = columns.table.rows.len();
    if candidates.is_empty() || count < candidates.len() + MIN_SUMMANDS {
        return Vec::new();
    }
    let numbers: Vec<HashMap<usize, Decimal>> = series
        .iter()
        .filter_map(|series| series.quantities.as_ref())
        .map(|quantities| {
            let exact = quantities.entries.iter();
            let exact = exact.filter_map(|entry| Some((entry.row, entry.amount.exact()?)));
            exact.collect()
        })
        .collect();
    // Total rows are never summands of other totals.
    let named: HashSet<usize> = candidates.iter().map(|candidate| candidate.row).collect();
    let parts = |rows: Range<usize>| rows.filter(|row| !named.contains(row));
    let all: Vec<Summands> = numbers
        .iter()
        .map(|column| Summands::of(column, parts(0..count)))
        .collect();
    let mut begin = 0;
    let mut found = Vec::new();
    for candidate in &candidates {
        let row = candidate.row;
        // A subtotal covers the rows since the previous total.
        let block = begin..row;
        begin = row + 1;
        let mut has_numbers = false;
        let is_sum = numbers.iter().zip(&all).any(|(column, all)| {
            let Some(total) = column.get(&row) else {
                return false;
            };
            has_numbers = true;
            all.sum_or_mean_is(*total)
                || Summands::of(column, parts(block.clone())).sum_or_mean_is(*total)
        });
        // Figures may be missing in a column, so that the name suffices at an end of the table.
        let is_at_end = row == 0 || row + 1 == count;
        if is_sum || candidate.is_exact && is_at_end && has_numbers {
            found.push((
                row,
                TotalRow {
                    at: columns.table.pointer(row),
                    name: candidate.name.clone(),
                    is_sum,
                },
            ));
        }
    }
    found
}

/// Numbers that a total may summarize.
struct Summands {
    count: usize,
    sum: Option<Decimal>,
}

impl Summands {
    fn of(column: &HashMap<usize, Decimal>, rows: impl Iterator<Item = usize>) -> Self {
        let parts: Vec<Decimal> = rows.filter_map(|row| column.get(&row)).copied().collect();
        Self {
            count: parts.len(),
            sum: Decimal::sum(parts.into_iter()),
        }
    }

    /// Returns true if a number is the sum or the mean, within its precision.
    fn sum_or_mean_is(&self, total: Decimal) -> bool {
        let Some(sum) = self.sum.filter(|_| MIN_SUMMANDS <= self.count) else {
            return false;
        };
        let mean = sum.divided(self.count).map(|(mean, _)| mean);
        let half = Decimal::new(5, total.scale() + 1);
        let is_near = |wanted: Decimal| {
            let difference = wanted.minus(total).map(Decimal::abs);
            // A total may be rounded, but not in digits that its summands do not have.
            let is_rounded = total.scale() < wanted.scale();
            difference.is_some_and(|difference| {
                difference == Decimal::from_count(0) || is_rounded && difference <= half
            })
        };
        is_near(sum) || mean.is_some_and(is_near)
    }
}

/// Finds the rows with the name of a total, in row order.
fn candidates(columns: &Columns<'_>) -> Vec<TotalCandidate> {
    let mut found: Vec<TotalCandidate> = Vec::new();
    let mut add = |row: usize, text: &str| {
        let name = text
            .trim()
            .trim_end_matches(':')
            .to_lowercase()
            .replace('-', " ");
        let is_exact = TOTAL_NAMES.contains(&name.as_str());
        let is_like = || {
            let mut words = name.split(' ');
            [words.next(), words.next_back()]
                .iter()
                .flatten()
                .any(|word| TOTAL_WORDS.contains(word))
        };
        if is_exact || name.len() <= 40 && is_like() {
            found.push(TotalCandidate {
                row,
                name: text.to_owned(),
                is_exact,
            });
        }
    };
    for (number, row) in columns.table.rows.iter().enumerate() {
        if let RowKey::Name(key) = row.key {
            add(number, key);
        }
    }
    for column in columns.iter() {
        for (row, value) in &column.entries {
            if let Some(text) = value.as_text() {
                add(*row, text);
            }
        }
    }
    // The exact name wins over a similar one in the same row.
    found.sort_by_key(|candidate| (candidate.row, !candidate.is_exact));
    found.dedup_by_key(|candidate| candidate.row);
    found
}
