//! Days and months in values: `2025-10-05T09:00:00Z`, `10/25/2025`, `5 Oct 2025`, `2025-10`, seconds since 1970.

use planwright_core::Value;

use super::column::Column;
use super::field_name::is_moment;
use super::report::{Per, Unread};
use crate::dates::{DateRange, Day, fixed_days};

/// The seconds since 1970 that numbers are moments between: 1989 to 2103.
const SECONDS: std::ops::RangeInclusive<f64> = 6e8..=4.2e9;

/// How many of a smaller unit make a second.
const UNITS: [f64; 4] = [1.0, 1e3, 1e6, 1e9];

const SECONDS_OF_DAY: f64 = 86_400.0;

/// The longest text that is read as a day, in bytes.
const MAX_LENGTH: usize = 48;

/// The days of a field.
#[derive(Debug)]
pub(super) struct Moments {
    /// The day of each row that has one; the first one of a week or a month.
    pub(super) days: Vec<(usize, Day)>,
    /// The shortest stretch that all values tell.
    pub(super) per: Per,
    /// The values that are no days.
    pub(super) unread: Unread,
}

/// What a field says about days.
#[derive(Debug)]
pub(super) enum Found {
    Days(Moments),
    /// Day and month of all these values may stand in either order.
    Unclear(Unread),
}

/// In which order day and month stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    DayFirst,
    MonthFirst,
}

/// The days of a field; `None` unless at least half of its values are some.
pub(super) fn of(column: &Column<'_>) -> Option<Found> {
    let may_count = is_moment(column.role());
    let order = order(column);
    let mut moments = Moments {
        days: Vec::new(),
        per: Per::Day,
        unread: Unread::default(),
    };
    let mut unclear = Unread::default();
    for (row, value) in &column.entries {
        let range = match value {
            Value::Number(number) if may_count => of_number(number.as_f64()),
            Value::Text(text) => match slashed(text) {
                Some(parts) => match order {
                    Ok(order) => of_slashed(parts, order),
                    Err(()) => {
                        unclear.add(value);
                        continue;
                    }
                },
                None => day_of_text(text).or_else(|| {
                    let is_number = may_count
                        && text
                            .bytes()
                            .all(|byte| byte.is_ascii_digit() || byte == b'.');
                    is_number.then(|| of_number(text.parse().ok()))?
                }),
            },
            _ => None,
        };
        let Some(range) = range else {
            moments.unread.add(value);
            continue;
        };
        moments.per = moments.per.max(match range.days() {
            1 => Per::Day,
            7 => Per::Week,
            _ => Per::Month,
        });
        moments.days.push((*row, range.from));
    }
    let read = moments.days.len();
    if 0 < unclear.count && moments.unread.written() + read <= unclear.count {
        return Some(Found::Unclear(unclear));
    }
    moments.unread.count += unclear.count;
    moments.unread.examples.extend(unclear.examples);
    let is_mostly_read = 0 < read && moments.unread.written() <= read;
    is_mostly_read.then_some(Found::Days(moments))
}

/// The day, week or month that a text names, whatever day it is today.
pub(super) fn day_of_text(text: &str) -> Option<DateRange> {
    if let Some(day) = Day::read(text) {
        return Some(DateRange { from: day, to: day });
    }
    if MAX_LENGTH < text.len() || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    fixed_days(date_part(text)).filter(|range| range.days() <= 31)
}

/// A text without the time behind its day.
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

/// The day of a moment since 1970, in seconds or a smaller unit, or of eight digits: `20251005`.
fn of_number(number: Option<f64>) -> Option<DateRange> {
    let number = number?;
    let seconds = UNITS
        .iter()
        .map(|unit| number / unit)
        .find(|seconds| SECONDS.contains(seconds));
    let day = match seconds {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        Some(seconds) => Day::from_number((seconds / SECONDS_OF_DAY).floor() as i64)?,
        None => {
            let digits = number.to_string();
            let (year, rest) = digits.split_at_checked(4)?;
            let (month, day) = rest.split_at_checked(2).filter(|(_, day)| day.len() == 2)?;
            Day::read(&format!("{year}-{month}-{day}"))?
        }
    };
    Some(DateRange { from: day, to: day })
}

type Parts = (i8, i8, i16);

/// The numbers of `10/01/2025`.
fn slashed(text: &str) -> Option<Parts> {
    if MAX_LENGTH < text.len() {
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

/// In which order day and month stand in a field, if any of its values tells and none contradicts.
fn order(column: &Column<'_>) -> Result<Order, ()> {
    let texts = column
        .entries
        .iter()
        .filter_map(|(_, value)| value.as_text());
    let (mut is_day_first, mut is_month_first) = (false, false);
    for (first, second, _) in texts.filter_map(slashed) {
        is_day_first |= 12 < first;
        is_month_first |= 12 < second;
    }
    match (is_day_first, is_month_first) {
        (true, false) => Ok(Order::DayFirst),
        (false, true) => Ok(Order::MonthFirst),
        _ => Err(()),
    }
}

fn of_slashed((first, second, year): Parts, order: Order) -> Option<DateRange> {
    let (month, day) = if order == Order::DayFirst {
        (second, first)
    } else {
        (first, second)
    };
    let day = Day::read(&format!("{year:04}-{month:02}-{day:02}"))?;
    Some(DateRange { from: day, to: day })
}
