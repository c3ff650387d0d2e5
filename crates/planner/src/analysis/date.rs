//! Days among the texts of a field, and how records and their numbers go over time.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::amount::Amount;
use super::column::{Column, Columns};
use super::field::amounts;
use super::fit;
use super::report::{Bucket, Dates, Field, Per, Trend};
use crate::dates::Day;

/// The most days that are still counted one by one, week by week, month by month.
const DAYS: i64 = 31;
const WEEKS: i64 = 183;
const MONTHS: i64 = 5 * 366;

/// The most fields of days, and of numbers, whose course over time is looked at.
const DATED: usize = 3;
const NUMBERED: usize = 5;

/// The days of a field, where each of its values begins with one.
pub(super) fn dates(column: &Column<'_>) -> Option<Dates> {
    let days = days(column)?;
    let numbers: Vec<i64> = days.iter().map(|(_, day)| day.number()).collect();
    let (first, last) = (*numbers.iter().min()?, *numbers.iter().max()?);
    let per = match last - first {
        span if span < DAYS => Per::Day,
        span if span < WEEKS => Per::Week,
        span if span < MONTHS => Per::Month,
        _ => Per::Year,
    };
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (_, day) in &days {
        *counts.entry(bucket(*day, per)).or_default() += 1;
    }
    let (first_bucket, last_bucket) = (*counts.keys().next()?, *counts.keys().next_back()?);
    let most = counts.values().max().copied()?;
    let busiest = counts.iter().find(|(_, count)| **count == most)?;
    Some(Dates {
        count: days.len(),
        from: Day::from_number(first)?.to_string(),
        to: Day::from_number(last)?.to_string(),
        per,
        buckets: usize::try_from(last_bucket - first_bucket + 1).ok()?,
        busiest: Bucket {
            from: Day::from_number(beginning(*busiest.0, per)?)?.to_string(),
            count: most,
        },
        trends: Vec::new(),
    })
}

/// The day of each item; nothing unless all have one.
fn days(column: &Column<'_>) -> Option<Vec<(usize, Day)>> {
    let entries = column.entries.iter();
    let days: Option<Vec<(usize, Day)>> = entries
        .map(|(item, value)| Some((*item, Day::read(value.as_text()?)?)))
        .collect();
    days.filter(|days| !days.is_empty())
}

/// Adds to fields of days how the number of records goes, and how numbers of the same records do.
pub(super) fn add_trends(columns: &Columns<'_>, fields: &mut [Field]) {
    let numbered: Vec<(&Column<'_>, HashMap<usize, Amount>)> = columns
        .iter()
        .map(|column| {
            (
                column,
                amounts(column).into_iter().collect::<HashMap<_, _>>(),
            )
        })
        .filter(|(_, amounts)| !amounts.is_empty())
        .take(NUMBERED)
        .collect();
    let dated = columns
        .iter()
        .zip(fields)
        .filter_map(|(column, field)| Some((field.dates.as_mut()?, days(column)?)));
    for (dates, days) in dated.take(DATED) {
        let different: HashSet<i64> = days.iter().map(|(_, day)| day.number()).collect();
        let is_series = different.len() == days.len();
        if !is_series {
            dates.trends.extend(bucketed(&days, dates.per, None));
        }
        for (column, amounts) in &numbered {
            let trend = if is_series {
                in_series(&days, &column.name, amounts)
            } else {
                bucketed(&days, dates.per, Some((&column.name, amounts)))
            };
            dates.trends.extend(trend);
        }
    }
}

/// How a number goes that there is one of each day.
#[expect(clippy::cast_precision_loss, reason = "days are few")]
fn in_series(days: &[(usize, Day)], of: &str, amounts: &HashMap<usize, Amount>) -> Option<Trend> {
    let mut points: Vec<(f64, f64)> = days
        .iter()
        .filter_map(|(item, day)| Some((day.number() as f64, amounts.get(item)?.to_f64())))
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    fit::trend(&points, Some(of), Per::Day)
}

/// How the number of records goes from stretch to stretch, or the sum of a field. Stretches without any count as none.
#[expect(clippy::cast_precision_loss, reason = "days are few")]
fn bucketed(
    days: &[(usize, Day)],
    per: Per,
    of: Option<(&str, &HashMap<usize, Amount>)>,
) -> Option<Trend> {
    let mut members: BTreeMap<i64, Vec<Amount>> = BTreeMap::new();
    for (item, day) in days {
        let amount = match of {
            None => Some(Amount::Whole(1)),
            Some((_, amounts)) => amounts.get(item).copied(),
        };
        members.entry(bucket(*day, per)).or_default().extend(amount);
    }
    let first = days.iter().map(|(_, day)| day.number()).min()?;
    let last = days.iter().map(|(_, day)| day.number()).max()?;
    let is_whole = |at: i64| {
        let ends = beginning(at, per).zip(beginning(at + 1, per));
        ends.is_some_and(|(from, behind)| first <= from && behind <= last + 1)
    };
    let (from, to) = (*members.keys().next()?, *members.keys().next_back()?);
    let mut points = Vec::new();
    for at in (from..=to).filter(|at| is_whole(*at)) {
        let mut inside = members.remove(&at).unwrap_or_default();
        inside.sort_by(Amount::order);
        points.push((at as f64, Amount::sum(&inside)?.to_f64()));
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
