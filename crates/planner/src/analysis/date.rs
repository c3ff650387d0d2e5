//! Days of a field, and how records and their numbers go over time.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::amount::Amount;
use super::field::Series;
use super::fit;
use super::moment::{Found, Moments};
use super::report::{Bucket, Dates, Field, Per, Trend};
use crate::dates::Day;

/// The most days that are still counted one by one, week by week, month by month.
const DAYS: i64 = 31;
const WEEKS: i64 = 183;
const MONTHS: i64 = 5 * 366;

/// The most fields of days, and of numbers, whose course over time is looked at.
const DATED: usize = 3;
const NUMBERED: usize = 5;

/// The days of a field, if it has some.
pub(super) fn dates(series: &Series<'_, '_>) -> Option<Dates> {
    let moments = days(series)?;
    let days = &moments.days;
    let numbers = || days.iter().map(|(_, day)| day.number());
    let (first, last) = (numbers().min()?, numbers().max()?);
    let per = match last - first {
        span if span < DAYS => Per::Day,
        span if span < WEEKS => Per::Week,
        span if span < MONTHS => Per::Month,
        _ => Per::Year,
    };
    let per = per.max(moments.per);
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (_, day) in days {
        *counts.entry(bucket(*day, per)).or_default() += 1;
    }
    let (first_bucket, last_bucket) = (*counts.keys().next()?, *counts.keys().next_back()?);
    let most = counts.values().max().copied()?;
    let busiest = counts.iter().find(|(_, count)| **count == most)?;
    let written = |number: i64| {
        let day = Day::from_number(number)?.to_string();
        // Of a month, the day says nothing.
        let length = if moments.per == Per::Month {
            7
        } else {
            day.len()
        };
        Some(day.get(..length)?.to_owned())
    };
    Some(Dates {
        count: days.len(),
        from: written(first)?,
        to: written(last)?,
        per,
        buckets: usize::try_from(last_bucket - first_bucket + 1).ok()?,
        busiest: Bucket {
            from: Day::from_number(beginning(*busiest.0, per)?)?.to_string(),
            count: most,
        },
        trends: Vec::new(),
    })
}

fn days<'s>(series: &'s Series<'_, '_>) -> Option<&'s Moments> {
    match &series.moments {
        Some(Found::Days(moments)) => Some(moments),
        _ => None,
    }
}

/// The numbers of a field by their rows.
type Amounts = HashMap<usize, Amount>;

/// Adds to fields of days how the number of records goes, and how numbers of the same records do.
pub(super) fn add_trends(series: &[Series<'_, '_>], fields: &mut [Field]) {
    let numbered: Vec<(&Series<'_, '_>, Amounts)> = series
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
        .take(NUMBERED)
        .collect();
    let dated = series
        .iter()
        .zip(fields)
        .filter_map(|(series, field)| Some((field.dates.as_mut()?, days(series)?)));
    for (dates, moments) in dated.take(DATED) {
        let different: HashSet<i64> = moments.days.iter().map(|(_, day)| day.number()).collect();
        let is_series = different.len() == moments.days.len();
        if !is_series {
            dates.trends.extend(bucketed(moments, dates.per, None));
        }
        for (series, amounts) in &numbered {
            let name = &series.column.name;
            let is_summed = series.quantities.as_ref().is_some_and(|read| {
                let first = read.entries.first();
                read.is_summed(first.and_then(|first| read.unit_of(first)))
            });
            let trend = match (is_series, is_summed) {
                (true, _) => in_series(moments, name, amounts),
                (false, true) => bucketed(moments, dates.per, Some((name, amounts))),
                (false, false) => None,
            };
            dates.trends.extend(trend);
        }
    }
}

/// How a number goes that there is one of each day, week or month.
#[expect(clippy::cast_precision_loss, reason = "days are few")]
fn in_series(moments: &Moments, of: &str, amounts: &Amounts) -> Option<Trend> {
    let mut points: Vec<(f64, f64)> = moments
        .days
        .iter()
        .filter_map(|(row, day)| {
            let at = bucket(*day, moments.per);
            Some((at as f64, amounts.get(row)?.to_f64()))
        })
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    fit::trend(&points, Some(of), moments.per)
}

/// How the number of records goes from stretch to stretch, or the sum of a field. Stretches without any count as none.
#[expect(clippy::cast_precision_loss, reason = "days are few")]
fn bucketed(moments: &Moments, per: Per, of: Option<(&str, &Amounts)>) -> Option<Trend> {
    let mut members: BTreeMap<i64, Vec<Amount>> = BTreeMap::new();
    let days = &moments.days;
    for (item, day) in days {
        let amount = match of {
            None => Some(Amount::whole(1)),
            Some((_, amounts)) => amounts.get(item).copied(),
        };
        members.entry(bucket(*day, per)).or_default().extend(amount);
    }
    let first = days.iter().map(|(_, day)| day.number()).min()?;
    let last = days
        .iter()
        .map(|(_, day)| bucket(*day, moments.per))
        .max()?;
    let last = beginning(last + 1, moments.per)? - 1;
    let is_whole = |at: i64| {
        let ends = beginning(at, per).zip(beginning(at + 1, per));
        ends.is_some_and(|(from, behind)| first <= from && behind <= last + 1)
    };
    let (from, to) = (*members.keys().next()?, *members.keys().next_back()?);
    let mut points = Vec::new();
    for at in (from..=to).filter(|at| is_whole(*at)) {
        let mut inside = members.remove(&at).unwrap_or_default();
        inside.sort_by(Amount::order);
        let sum = if inside.is_empty() {
            Some(Amount::whole(0))
        } else {
            Amount::sum(&inside)
        };
        points.push((at as f64, sum?.to_f64()));
    }
    fit::trend(&points, of.map(|(name, _)| name), per)
}

/// The number of the stretch that a day is in.
fn bucket(day: Day, per: Per) -> i64 {
    let (year, month) = day.month();
    match per {
        Per::Day => day.number(),
        // The first day of 1970 was a Thursday.
        Per::Week => (day.number() + 3).div_euclid(7),
        Per::Month => year * 12 + month - 1,
        Per::Year => year,
    }
}

/// The number of the first day of a stretch.
fn beginning(bucket: i64, per: Per) -> Option<i64> {
    Some(match per {
        Per::Day => bucket,
        Per::Week => bucket * 7 - 3,
        Per::Month => Day::first_of(bucket.div_euclid(12), bucket.rem_euclid(12) + 1)?.number(),
        Per::Year => Day::first_of(bucket, 1)?.number(),
    })
}
