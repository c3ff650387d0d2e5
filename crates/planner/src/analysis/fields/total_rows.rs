//! Rows that summarize others: `Total`, `Subtotal`, `Gesamt`, `Average`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::field_figures::FieldSeries;
use crate::analysis::numbers::Decimal;
use crate::analysis::report::TotalRow;
use crate::analysis::tables::{Columns, RowKey};

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

/// The fewest rows that a total row summarizes.
const MIN_SUMMANDS: usize = 2;

/// A row with the name of a total row.
struct TotalCandidate {
    row: usize,
    name: String,
    is_exact: bool,
}

/// Finds total rows, and returns them with their row numbers. A row is one if it has the name of a total and its numbers are the
/// sums or means of all others or of those since the previous total, or if it has exactly such a name at an end of the table.
pub(crate) fn find_totals(
    columns: &Columns<'_>,
    series: &[FieldSeries<'_, '_>],
) -> Vec<(usize, TotalRow)> {
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
