//! Days and months in values (`2025-10-05T09:00:00Z`, `10/25/2025`, `5 Oct 2025`, `2025-10`, epoch timestamps), their
//! statistics, and trends of records and numbers over time.

use std::collections::{BTreeMap, HashMap, HashSet};

use planwright_core::Value;

use super::field_figures::FieldSeries;
use super::field_name::is_date_field;
use crate::analysis::numbers::Amount;
use crate::analysis::report::{
    DateStatistics, FieldAnalysis, Granularity, TimeBucket, Trend, TrendDirection, UnparsedValues,
};
use crate::analysis::tables::Column;
use crate::dates::{DateRange, Day, fixed_days};

/// The longest spans, in days, that are counted by day, by week, and by month.
const MAX_DAILY_SPAN: i64 = 31;
const MAX_WEEKLY_SPAN: i64 = 183;
const MAX_MONTHLY_SPAN: i64 = 5 * 366;

/// The number of date fields and number fields with trends.
const MAX_DATE_FIELDS: usize = 3;
const MAX_NUMBER_FIELDS: usize = 5;

/// Computes the statistics of the days of a field, if it has days.
pub(crate) fn date_statistics(series: &FieldSeries<'_, '_>) -> Option<DateStatistics> {
    let day_values = days(series)?;
    let days = &day_values.days;
    let numbers = || days.iter().map(|(_, day)| day.epoch_days());
    let (first, last) = (numbers().min()?, numbers().max()?);
    let per = match last - first {
        span if span < MAX_DAILY_SPAN => Granularity::Day,
        span if span < MAX_WEEKLY_SPAN => Granularity::Week,
        span if span < MAX_MONTHLY_SPAN => Granularity::Month,
        _ => Granularity::Year,
    };
    // Buckets are never finer than the dates themselves.
    let per = per.max(day_values.per);
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (_, day) in days {
        *counts.entry(bucket(*day, per)).or_default() += 1;
    }
    let (first_bucket, last_bucket) = (*counts.keys().next()?, *counts.keys().next_back()?);
    let maximum = counts.values().max().copied()?;
    let busiest = counts.iter().find(|(_, count)| **count == maximum)?;
    let format_day = |number: i64| {
        let day = Day::from_epoch_days(number)?.to_string();
        // Months are written without a day.
        let length = if day_values.per == Granularity::Month {
            7
        } else {
            day.len()
        };
        Some(day.get(..length)?.to_owned())
    };
    Some(DateStatistics {
        count: days.len(),
        from: format_day(first)?,
        to: format_day(last)?,
        per,
        buckets: usize::try_from(last_bucket - first_bucket + 1).ok()?,
        busiest: TimeBucket {
            from: Day::from_epoch_days(bucket_start(*busiest.0, per)?)?.to_string(),
            count: maximum,
        },
        trends: Vec::new(),
    })
}

fn days<'s>(series: &'s FieldSeries<'_, '_>) -> Option<&'s DayValues> {
    match &series.day_values {
        Some(DayReading::Days(day_values)) => Some(day_values),
        Some(DayReading::Ambiguous(_)) | None => None,
    }
}

/// The numbers of a field by row.
type Amounts = HashMap<usize, Amount>;

/// Adds the trends of the number of records, and of numbers in the same records, to date fields.
pub(crate) fn add_trends(series: &[FieldSeries<'_, '_>], fields: &mut [FieldAnalysis]) {
    let numbered: Vec<(&FieldSeries<'_, '_>, Amounts)> = series
        .iter()
        .filter_map(|one| {
            let uniform = one.quantities.as_ref().filter(|read| read.is_uniform())?;
            let entries = uniform.entries.iter();
            Some((
                one,
                entries
                    .map(|entry| (entry.row, entry.amount))
                    .collect::<Amounts>(),
            ))
        })
        .filter(|(_, amounts)| !amounts.is_empty())
        .take(MAX_NUMBER_FIELDS)
        .collect();
    let dated = series
        .iter()
        .zip(fields)
        .filter_map(|(series, field)| Some((field.dates.as_mut()?, days(series)?)));
    for (dates, day_values) in dated.take(MAX_DATE_FIELDS) {
        let different: HashSet<i64> = day_values
            .days
            .iter()
            .map(|(_, day)| day.epoch_days())
            .collect();
        // With at most one record per day, the numbers are a series, and the number of records has no trend.
        let is_series = different.len() == day_values.days.len();
        if !is_series {
            dates
                .trends
                .extend(bucket_trend(day_values, dates.per, None));
        }
        for (series, amounts) in &numbered {
            let name = &series.column.name;
            let is_summed = series.quantities.as_ref().is_some_and(|read| {
                let first = read.entries.first();
                read.is_summed(first.and_then(|first| read.unit_of(first)))
            });
            // Sums of shares or temperatures per bucket have no meaning.
            let trend = match (is_series, is_summed) {
                (true, _) => series_trend(day_values, name, amounts),
                (false, true) => bucket_trend(day_values, dates.per, Some((name, amounts))),
                (false, false) => None,
            };
            dates.trends.extend(trend);
        }
    }
}

/// Computes the trend of a number with one value per day, week, or month.
#[expect(
    clippy::cast_precision_loss,
    reason = "day numbers stay far below 2^53"
)]
fn series_trend(day_values: &DayValues, of: &str, amounts: &Amounts) -> Option<Trend> {
    let mut points: Vec<(f64, f64)> = day_values
        .days
        .iter()
        .filter_map(|(row, day)| {
            let at = bucket(*day, day_values.per);
            Some((at as f64, amounts.get(row)?.to_f64()))
        })
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    fit_trend(&points, Some(of), day_values.per)
}

/// Computes the trend of the number of records, or of a field's sum, per bucket. Empty buckets count as zero.
#[expect(
    clippy::cast_precision_loss,
    reason = "day numbers stay far below 2^53"
)]
fn bucket_trend(
    day_values: &DayValues,
    per: Granularity,
    of: Option<(&str, &Amounts)>,
) -> Option<Trend> {
    let mut members: BTreeMap<i64, Vec<Amount>> = BTreeMap::new();
    let days = &day_values.days;
    for (item, day) in days {
        let amount = match of {
            None => Some(Amount::from_count(1)),
            Some((_, amounts)) => amounts.get(item).copied(),
        };
        members.entry(bucket(*day, per)).or_default().extend(amount);
    }
    let first = days.iter().map(|(_, day)| day.epoch_days()).min()?;
    let last = days
        .iter()
        .map(|(_, day)| bucket(*day, day_values.per))
        .max()?;
    let last = bucket_start(last + 1, day_values.per)? - 1;
    // The first and the last bucket may be incomplete, and would show a trend that does not exist.
    let is_whole = |at: i64| {
        let ends = bucket_start(at, per).zip(bucket_start(at + 1, per));
        ends.is_some_and(|(from, end)| first <= from && end <= last + 1)
    };
    let (from, to) = (*members.keys().next()?, *members.keys().next_back()?);
    let mut points = Vec::new();
    for at in (from..=to).filter(|at| is_whole(*at)) {
        let mut inside = members.remove(&at).unwrap_or_default();
        inside.sort_by(Amount::compare);
        let sum = if inside.is_empty() {
            Some(Amount::from_count(0))
        } else {
            Amount::sum(&inside)
        };
        points.push((at as f64, sum?.to_f64()));
    }
    fit_trend(&points, of.map(|(name, _)| name), per)
}

/// Returns the index of the bucket of a day.
fn bucket(day: Day, per: Granularity) -> i64 {
    let (year, month) = day.year_month();
    match per {
        Granularity::Day => day.epoch_days(),
        // 1970-01-01 was a Thursday.
        Granularity::Week => (day.epoch_days() + 3).div_euclid(7),
        Granularity::Month => year * 12 + month - 1,
        Granularity::Year => year,
    }
}

/// Returns the first day of a bucket, in days since 1970-01-01.
fn bucket_start(bucket: i64, per: Granularity) -> Option<i64> {
    Some(match per {
        Granularity::Day => bucket,
        Granularity::Week => bucket * 7 - 3,
        Granularity::Month => {
            Day::first_of_month(bucket.div_euclid(12), bucket.rem_euclid(12) + 1)?.epoch_days()
        }
        Granularity::Year => Day::first_of_month(bucket, 1)?.epoch_days(),
    })
}

/// The fewest points for a trend.
const MIN_POINTS: usize = 4;

/// The largest total change of a flat trend, as a share of the mean.
const MAX_FLAT_CHANGE: f64 = 0.05;

/// The largest standard error of a flat trend, as a share of the mean.
const MAX_FLAT_ERROR: f64 = 0.1;

/// Critical values of Student's t (5 %, two-sided) by degrees of freedom. Values in between use the next smaller entry, which is
/// conservative.
const T_CRITICAL: &[(usize, f64)] = &[
    (2, 4.303),
    (3, 3.182),
    (4, 2.776),
    (5, 2.571),
    (6, 2.447),
    (7, 2.365),
    (8, 2.306),
    (9, 2.262),
    (10, 2.228),
    (15, 2.131),
    (20, 2.086),
    (30, 2.042),
];

/// Fits a line through points by least squares; `None` if there are too few.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn fit_trend(points: &[(f64, f64)], of: Option<&str>, per: Granularity) -> Option<Trend> {
    let count = points.len();
    if count < MIN_POINTS {
        return None;
    }
    let number = count as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / number;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / number;
    let moment = |of: fn(f64, f64) -> f64| {
        let products = points.iter().map(|(x, y)| of(x - mean_x, y - mean_y));
        products.sum::<f64>()
    };
    let (xx, xy, yy) = (
        moment(|x, _| x * x),
        moment(|x, y| x * y),
        moment(|_, y| y * y),
    );
    if xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let residual = (yy - slope * xy).max(0.0);
    let fit = if yy <= 0.0 {
        1.0
    } else {
        (1.0 - residual / yy).clamp(0.0, 1.0)
    };
    let first = points.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let last = points
        .iter()
        .map(|(x, _)| *x)
        .fold(f64::NEG_INFINITY, f64::max);
    let change = (slope * (last - first)).abs();
    let degrees = count - 2;
    let error = (residual / degrees as f64).sqrt();
    let is_flat =
        change <= MAX_FLAT_CHANGE * mean_y.abs() && error <= MAX_FLAT_ERROR * mean_y.abs();
    // The residual of a perfect fit is rounding noise.
    let is_significant =
        residual <= yy * 1e-12 || critical_t(degrees) * error / xx.sqrt() < slope.abs();
    let direction = match (is_flat, is_significant) {
        (true, _) => TrendDirection::Flat,
        (false, true) if 0.0 < slope => TrendDirection::Rising,
        (false, true) if slope < 0.0 => TrendDirection::Falling,
        _ => TrendDirection::Unclear,
    };
    Some(Trend {
        of: of.map(str::to_owned),
        per,
        points: count,
        slope: Amount::from_f64(slope)?,
        fit: Amount::from_f64(fit)?,
        direction,
    })
}

fn critical_t(degrees: usize) -> f64 {
    let known = T_CRITICAL.iter().rev().find(|(at, _)| *at <= degrees);
    known.map_or(f64::INFINITY, |(_, value)| *value)
}

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
                // One unambiguous value decides for the whole column; without one, no order is guessed.
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
