//! Rows that summarise others: `Total`, `Subtotal`, `Gesamt`, `Average`.

use std::collections::HashMap;

use super::column::Columns;
use super::decimal::Decimal;
use super::field::Series;
use super::report::TotalRow;
use super::table::Own;

/// Names of rows that summarise others.
const NAMES: &[&str] = &[
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

/// Words with which names of such rows begin or end: `Total EU`, `Summe Berlin`.
const WORDS: &[&str] = &[
    "average",
    "gesamt",
    "mean",
    "subtotal",
    "sum",
    "summe",
    "total",
    "zwischensumme",
];

/// The fewest rows that are summarised.
const FEWEST: usize = 2;

/// A row that is named like a total.
struct Candidate {
    row: usize,
    name: String,
    is_exact: bool,
}

/// The rows that summarise others, with their numbers: those named like a total whose numbers are the sums or means of the others or of those
/// since the total before, and those with exactly such a name at an end of the table.
pub(super) fn find(columns: &Columns<'_>, series: &[Series<'_, '_>]) -> Vec<(usize, TotalRow)> {
    let candidates = candidates(columns);
    let count = columns.table.rows.len();
    if candidates.is_empty() || count < candidates.len() + FEWEST {
        return Vec::new();
    }
    let numbers: Vec<HashMap<usize, Decimal>> = series
        .iter()
        .filter_map(|series| series.quantities.as_ref())
        .map(|quantities| {
            let exact = quantities.entries.iter();
            exact
                .filter_map(|entry| Some((entry.row, entry.amount.exact()?)))
                .collect()
        })
        .collect();
    let is_candidate = |row: &usize| candidates.iter().any(|candidate| candidate.row == *row);
    let mut begin = 0;
    let mut found = Vec::new();
    for candidate in &candidates {
        let row = candidate.row;
        let before: Vec<usize> = (begin..row).filter(|row| !is_candidate(row)).collect();
        let all: Vec<usize> = (0..count).filter(|row| !is_candidate(row)).collect();
        begin = row + 1;
        let has_numbers = numbers.iter().any(|column| column.contains_key(&row));
        let is_sum = numbers.iter().any(|column| {
            let is_of = |rows: &[usize]| is_sum(column, row, rows);
            is_of(&all) || is_of(&before)
        });
        let is_at_end = row == 0 || row + 1 == count;
        if is_sum || candidate.is_exact && is_at_end && has_numbers {
            found.push((
                row,
                TotalRow {
                    at: columns.table.place(row),
                    name: candidate.name.clone(),
                    is_sum,
                },
            ));
        }
    }
    found
}

/// Whether the number of a row is the sum or the mean of others, as far as it has digits.
fn is_sum(column: &HashMap<usize, Decimal>, row: usize, others: &[usize]) -> bool {
    let Some(total) = column.get(&row) else {
        return false;
    };
    let parts: Vec<Decimal> = others
        .iter()
        .filter_map(|row| column.get(row))
        .copied()
        .collect();
    let Some(sum) = Decimal::sum(parts.iter().copied()).filter(|_| FEWEST <= parts.len()) else {
        return false;
    };
    let mean = sum.divided(parts.len()).map(|(mean, _)| mean);
    let half = Decimal::new(5, total.scale() + 1);
    let is_near = |wanted: Decimal| {
        let difference = wanted.minus(*total).map(Decimal::magnitude);
        // The total may be rounded, but not in digits that its parts do not have.
        let is_rounded = total.scale() < wanted.scale();
        difference.is_some_and(|difference| {
            difference == Decimal::whole(0) || is_rounded && difference <= half
        })
    };
    is_near(sum) || mean.is_some_and(is_near)
}

/// The rows named like a total, in their order.
fn candidates(columns: &Columns<'_>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |row: usize, text: &str| {
        let name = text
            .trim()
            .trim_end_matches(':')
            .to_lowercase()
            .replace('-', " ");
        let is_exact = NAMES.contains(&name.as_str());
        let is_like = || {
            let mut words = name.split(' ');
            [words.next(), words.next_back()]
                .iter()
                .flatten()
                .any(|word| WORDS.contains(word))
        };
        if is_exact || name.len() <= 40 && is_like() {
            found.push(Candidate {
                row,
                name: text.to_owned(),
                is_exact,
            });
        }
    };
    for (number, row) in columns.table.rows.iter().enumerate() {
        if let Own::Key(key) = row.own {
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
    found.sort_by_key(|candidate| (candidate.row, !candidate.is_exact));
    found.dedup_by_key(|candidate| candidate.row);
    found
}
