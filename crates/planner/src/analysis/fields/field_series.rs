//! A column with its values parsed.

use planwright_core::Value;

use super::days::{DayReading, parse_days};
use crate::analysis::numbers::{Amount, Decimal, Quantities};
use crate::analysis::tables::Column;

/// Texts that are booleans.
const FLAG_TEXTS: &[(&str, bool)] = &[
    ("true", true),
    ("false", false),
    ("yes", true),
    ("no", false),
];

/// A scalar value as a key of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ValueKey<'a> {
    Bool(bool),
    Number(Decimal),
    Real(u64),
    Text(&'a str),
}

impl<'a> ValueKey<'a> {
    pub(crate) fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Text(text) => Self::Text(text),
            Value::Number(_) => match Amount::from_value(value)? {
                Amount::Exact(number) | Amount::Rounded(number) => Self::Number(number),
                Amount::Real(value) => Self::Real(value.to_bits()),
            },
            _ => return None,
        })
    }
}

/// A column with its values parsed as numbers, days, and flags.
pub(crate) struct FieldSeries<'c, 'a> {
    pub(crate) column: &'c Column<'a>,
    pub(crate) quantities: Option<Quantities>,
    pub(crate) day_values: Option<DayReading>,
    /// The boolean of each row that has one.
    pub(crate) flags: Vec<(usize, bool)>,
}

impl<'c, 'a> FieldSeries<'c, 'a> {
    pub(super) fn of(column: &'c Column<'a>) -> Self {
        let day_values = parse_days(column);
        // Timestamps are numbers, too, but must not be added.
        let quantities = if day_values.is_some() {
            None
        } else {
            Quantities::of(column)
        };
        Self {
            quantities,
            day_values,
            flags: flags(column),
            column,
        }
    }
}

/// Returns the booleans of a column; texts such as `yes` and `no` count only if all values are flags.
fn flags(column: &Column<'_>) -> Vec<(usize, bool)> {
    let of_text = |text: &str| {
        let found = FLAG_TEXTS
            .iter()
            .find(|(written, _)| written.eq_ignore_ascii_case(text.trim()));
        found.map(|(_, flag)| *flag)
    };
    let is_flag = |value: &Value| match value {
        Value::Bool(_) => true,
        other => other.as_text().and_then(of_text).is_some(),
    };
    let mut are_texts_flags = column.entries.iter().map(|(_, value)| is_flag(value));
    // A single other text, such as `maybe`, makes the column an enumeration.
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
