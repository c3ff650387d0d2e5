//! Statistics of days, and trends of records and numbers over time.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::days::{DayReading, DayValues};
use super::field_series::FieldSeries;
use crate::analysis::numbers::Amount;
use crate::analysis::report::{
    DateStatistics, FieldAnalysis, Granularity, TimeBucket, Trend, TrendDirection,
};
use crate::dates::Day;

/// The longest spans, in days, that are counted by day, by week, and by month.
const MAX_DAILY_SPAN: i64 = 31;
const MAX_WEEKLY_SPAN: i64 = 183;
const MAX_MONTHLY_SPAN: i64 = 5 * 366;

/// Maximum number of date fields and number fields with trends.
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

/// Minimum number of points for a trend.
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
