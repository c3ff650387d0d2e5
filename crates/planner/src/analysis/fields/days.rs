//! Days and months in values: `2025-10-05T09:00:00Z`, `10/25/2025`, `5 Oct 2025`, `2025-10`, epoch timestamps.

use planwright_core::Value;

use super::field_name::is_date_field;
use crate::analysis::report::{Granularity, UnparsedValues};
use crate::analysis::tables::Column;
use crate::dates::{DateRange, Day, fixed_days};

/// The epoch seconds that numbers are taken for: 1989 to 2103.
const EPOCH_SECONDS: std::ops::RangeInclusive<f64> = 6e8..=4.2e9;

/// Units of epoch timestamps, per second.
const EPOCH_UNITS: [f64; 4] = [1.0, 1e3, 1e6, 1e9];

const SECONDS_PER_DAY: f64 = 86_400.0;

/// The longest text that is parsed, in bytes.
const MAX_TEXT_LENGTH: usize = 48;

/// The days in a column.
#[derive(Debug)]
pub(crate) struct DayValues {
    /// The day of each row that has one; the first day of a week or a month.
    pub(crate) days: Vec<(usize, Day)>,
    /// The coarsest granularity of the values.
    pub(crate) per: Granularity,
    /// The values that are not days.
    pub(crate) unread: UnparsedValues,
}

/// The result of reading a column as days.
#[derive(Debug)]
pub(crate) enum DayReading {
    Days(DayValues),
    /// Values in which day and month may have either order.
    Ambiguous(UnparsedValues),
}

/// The order of day and month.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DayMonthOrder {
    DayFirst,
    MonthFirst,
}

/// Reads a column as days; `None` unless at least half of its values are days.
pub(crate) fn parse_days(column: &Column<'_>) -> Option<DayReading> {
    // Numbers are timestamps only if the field's name indicates it; amounts have the same magnitude.
    let may_count = is_date_field(column.role());
    let day_month_order = day_month_order(column);
    let mut day_values = DayValues {
        days: Vec::new(),
        per: Granularity::Day,
        unread: UnparsedValues::default(),
    };
    let mut unclear = UnparsedValues::default();
    for (row, value) in &column.entries {
        let range = match value {
            Value::Number(number) if may_count => day_of_number(number.as_f64()),
            Value::Text(text) => match split_date(text) {
                // One unambiguous value decides for the whole column; without one, none is guessed.
                Some(parts) => match day_month_order {
                    Some(day_month_order) => day_in_order(parts, day_month_order),
                    None => {
                        unclear.add(value);
                        continue;
                    }
                },
                None => parse_period(text).or_else(|| {
                    let is_number = may_count
                        && text
                            .bytes()
                            .all(|byte| byte.is_ascii_digit() || byte == b'.');
                    is_number.then(|| day_of_number(text.parse().ok()))?
                }),
            },
            _ => None,
        };
        let Some(range) = range else {
            day_values.unread.add(value);
            continue;
        };
        day_values.per = day_values.per.max(match range.days() {
            1 => Granularity::Day,
            7 => Granularity::Week,
            _ => Granularity::Month,
        });
        day_values.days.push((*row, range.from));
    }
    let read = day_values.days.len();
    if 0 < unclear.count && day_values.unread.filled() + read <= unclear.count {
        return Some(DayReading::Ambiguous(unclear));
    }
    // A minority of ambiguous dates counts as unparsed.
    day_values.unread.count += unclear.count;
    day_values.unread.examples.extend(unclear.examples);
    let is_mostly_read = 0 < read && day_values.unread.filled() <= read;
    is_mostly_read.then_some(DayReading::Days(day_values))
}

/// Parses a text that names a day, a week, or a month independently of today.
pub(crate) fn parse_period(text: &str) -> Option<DateRange> {
    if let Some(day) = Day::parse_prefix(text) {
        return Some(DateRange { from: day, to: day });
    }
    if MAX_TEXT_LENGTH < text.len() || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Quarters and years are too long for the date of a record.
    fixed_days(date_part(text)).filter(|range| range.days() <= 31)
}

/// Returns the text before the time of day.
fn date_part(text: &str) -> &str {
    let Some(colon) = text.find(':') else {
        return text;
    };
    let before = &text[..colon];
    let digits = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let date = digits.strip_suffix('T').unwrap_or(digits).trim_end();
    date.strip_suffix("at")
        .unwrap_or(date)
        .trim_end_matches([' ', ','])
}

fn epoch_seconds(number: f64) -> Option<f64> {
    let mut in_units = EPOCH_UNITS.iter().map(|unit| number / unit);
    in_units.find(|seconds| EPOCH_SECONDS.contains(seconds))
}

/// Returns true if a number may be an epoch timestamp.
pub(crate) fn is_epoch(number: f64) -> bool {
    epoch_seconds(number).is_some()
}

/// Converts an epoch timestamp in seconds or a smaller unit, or eight digits: `20251005`.
fn day_of_number(number: Option<f64>) -> Option<DateRange> {
    let number = number?;
    let seconds = epoch_seconds(number);
    let day = match seconds {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        Some(seconds) => Day::from_epoch_days((seconds / SECONDS_PER_DAY).floor() as i64)?,
        None => {
            // `20251005` is far below the epoch range.
            let digits = number.to_string();
            let (year, rest) = digits.split_at_checked(4)?;
            let (month, day) = rest.split_at_checked(2).filter(|(_, day)| day.len() == 2)?;
            Day::parse_prefix(&format!("{year}-{month}-{day}"))?
        }
    };
    Some(DateRange { from: day, to: day })
}

type DateParts = (i8, i8, i16);

/// Splits `10/01/2025` into its numbers.
fn split_date(text: &str) -> Option<DateParts> {
    if MAX_TEXT_LENGTH < text.len() {
        return None;
    }
    let sign = text
        .find(['/', '-'])
        .and_then(|at| text[at..].chars().next())?;
    let mut parts = date_part(text).trim().split(sign);
    let mut part = |digits: std::ops::RangeInclusive<usize>| {
        parts.next().filter(|part| digits.contains(&part.len()))
    };
    let (first, second, year) = (part(1..=2)?, part(1..=2)?, part(4..=4)?);
    let parts = (
        first.parse().ok()?,
        second.parse().ok()?,
        year.parse().ok()?,
    );
    Some(parts)
}

/// Returns the order of day and month in a column, if any value shows it and none contradicts.
fn day_month_order(column: &Column<'_>) -> Option<DayMonthOrder> {
    let texts = column
        .entries
        .iter()
        .filter_map(|(_, value)| value.as_text());
    let (mut is_day_first, mut is_month_first) = (false, false);
    for (first, second, _) in texts.filter_map(split_date) {
        // A number above 12 cannot be a month.
        is_day_first |= 12 < first;
        is_month_first |= 12 < second;
    }
    match (is_day_first, is_month_first) {
        (true, false) => Some(DayMonthOrder::DayFirst),
        (false, true) => Some(DayMonthOrder::MonthFirst),
        _ => None,
    }
}

fn day_in_order(
    (first, second, year): DateParts,
    day_month_order: DayMonthOrder,
) -> Option<DateRange> {
    let (month, day) = if day_month_order == DayMonthOrder::DayFirst {
        (second, first)
    } else {
        (first, second)
    };
    let day = Day::parse_prefix(&format!("{year:04}-{month:02}-{day:02}"))?;
    Some(DateRange { from: day, to: day })
}
