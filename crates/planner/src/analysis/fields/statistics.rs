//! Statistics of numbers: sum, mean, median, deviation, extremes, and outliers; and the figures of other fields for each
//! group of equal values.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use planwright_core::Value;

use super::field_name::{is_entity, is_label};
use super::field_series::{FieldSeries, ValueKey};
use crate::analysis::analyze::clip_value;
use crate::analysis::numbers::{Amount, Decimal, Quantities, Quantity};
use crate::analysis::report::{
    BooleanCounts, FieldAnalysis, LocatedNumber, NumberStatistics, Outlier, OutlierMethod,
    Outliers, ValueGroup, ValueGroups,
};
use crate::analysis::tables::Column;

/// A function that returns the pointer to a row, and the name of its record.
pub(crate) type RowLocator<'p> = &'p dyn Fn(usize) -> (String, Option<String>);

/// Computes the statistics of numbers, each with its row; `None` if there are none. `is_summed` is true if their sum has a
/// meaning.
pub(crate) fn number_statistics(
    unit: Option<&str>,
    is_summed: bool,
    amounts: &[(usize, Amount)],
    locate: RowLocator<'_>,
) -> Option<NumberStatistics> {
    let mut sorted: Vec<Amount> = amounts.iter().map(|(_, amount)| *amount).collect();
    // Rounded sums do not depend on the order of the records if the numbers are sorted.
    sorted.sort_by(Amount::compare);
    let locate_number = |wanted: &Amount| {
        let (item, value) = amounts.iter().find(|(_, amount)| amount == wanted)?;
        let (at, name) = locate(*item);
        let value = *value;
        Some(LocatedNumber { at, name, value })
    };
    let sum = Amount::sum(&sorted);
    let mean = mean(&sorted, sum);
    let deviation = deviation(&sorted, sum, mean);
    Some(NumberStatistics {
        unit: unit.map(str::to_owned),
        count: sorted.len(),
        sum: sum.filter(|_| is_summed),
        mean,
        median: median(&sorted)?,
        deviation: deviation.and_then(Amount::from_f64),
        min: locate_number(sorted.first()?)?,
        max: locate_number(sorted.last()?)?,
        outliers: outliers(amounts, &sorted, mean, deviation, locate),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn mean(sorted: &[Amount], sum: Option<Amount>) -> Option<Amount> {
    let count = sorted.len() as f64;
    match sum {
        Some(Amount::Exact(sum)) => Amount::quotient(sum, sorted.len()),
        Some(sum) => Amount::from_f64(sum.to_f64() / count),
        // The sum overflows, but its parts do not.
        None => Amount::from_f64(sorted.iter().map(|amount| amount.to_f64() / count).sum()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn deviation(sorted: &[Amount], sum: Option<Amount>, mean: Option<Amount>) -> Option<f64> {
    let count = sorted.len();
    let binary = mean?.to_f64();
    // Large numbers with small differences cancel out in `f64`, so that the difference is computed exactly.
    let distance = |amount: &Amount| {
        let exact = || {
            let times = amount.exact()?.times(count)?;
            let distance: Decimal = times.minus(sum?.exact()?)?;
            Some(distance.to_f64() / count as f64)
        };
        exact().unwrap_or_else(|| amount.to_f64() - binary)
    };
    let squares: f64 = sorted.iter().map(|amount| distance(amount).powi(2)).sum();
    let variance = squares / (count.checked_sub(1).filter(|more| 0 < *more)? as f64);
    variance.is_finite().then(|| variance.sqrt())
}

fn median(sorted: &[Amount]) -> Option<Amount> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    match Amount::sum(&[lower, upper]) {
        Some(Amount::Exact(sum)) => Amount::quotient(sum, 2),
        _ => Amount::from_f64(f64::midpoint(lower.to_f64(), upper.to_f64())),
    }
}

/// The minimum sample size for outliers.
const MIN_NUMBERS: usize = 8;

/// Maximum number of outliers that are listed.
const MAX_LISTED: usize = 5;

/// The scores above which a number is an outlier, by either method.
const MAX_MODIFIED_Z: f64 = 3.5;
const MAX_Z: f64 = 3.0;

/// The factor that makes the median absolute deviation comparable with a standard deviation, for normally distributed numbers.
const NORMAL_SCALE: f64 = 0.6745;

/// The largest share of outliers; with more, the distribution has long tails.
const MAX_OUTLIER_SHARE: f64 = 0.1;

/// The count from which the octile skewness alone decides.
const LARGE_SAMPLE: usize = 1000;

/// The smallest relevant octile skewness.
const MIN_SKEWNESS: f64 = 0.1;

/// The skewness of a small sample must also exceed this factor divided by the square root of its count, so that chance does not explain it.
const CHANCE_SKEWNESS: f64 = 2.5;

/// The ratio by which the nearest outlier must be farther than all other numbers, if most numbers are equal.
const MIN_GAP: f64 = 2.0;

/// A row, its number, and its score.
type ScoredRow = (usize, Amount, f64);

/// Finds the outliers; `None` if there are none, or if the distribution does not permit a conclusion.
fn outliers(
    amounts: &[(usize, Amount)],
    sorted: &[Amount],
    mean: Option<Amount>,
    deviation: Option<f64>,
    locate: RowLocator<'_>,
) -> Option<Outliers> {
    if sorted.len() < MIN_NUMBERS {
        return None;
    }
    let values: Vec<f64> = sorted.iter().map(|amount| amount.to_f64()).collect();
    // The median absolute deviation is zero if at least half of the numbers are equal.
    let (method, mut found) = match RobustScale::of(&values) {
        Some(scale) => (
            OutlierMethod::ModifiedZ,
            outliers_by_median(amounts, &values, scale)?,
        ),
        None => (
            OutlierMethod::Z,
            outliers_by_mean(amounts, mean?.to_f64(), deviation?)?,
        ),
    };
    if found.is_empty() || are_too_many(found.len(), sorted.len()) {
        return None;
    }
    found.sort_by(|one, other| {
        let farther = other.2.abs().total_cmp(&one.2.abs());
        farther.then_with(|| one.0.cmp(&other.0))
    });
    let farthest = found
        .iter()
        .take(MAX_LISTED)
        .filter_map(|(row, value, score)| {
            let (at, name) = locate(*row);
            let value = *value;
            Some(Outlier {
                mark: LocatedNumber { at, name, value },
                score: Amount::from_f64(*score)?,
            })
        });
    Some(Outliers {
        method,
        count: found.len(),
        farthest: farthest.collect(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn are_too_many(found: usize, all: usize) -> bool {
    1 < found && MAX_OUTLIER_SHARE * (all as f64) < found as f64
}

/// The median, and the median absolute deviation.
#[derive(Clone, Copy)]
struct RobustScale {
    median: f64,
    deviation: f64,
}

impl RobustScale {
    /// Returns `None` if half of the numbers are equal.
    fn of(sorted: &[f64]) -> Option<Self> {
        let median = quantile(sorted, 0.5);
        let mut distances: Vec<f64> = sorted.iter().map(|value| (value - median).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let deviation = quantile(&distances, 0.5) / NORMAL_SCALE;
        (0.0 < deviation).then_some(Self { median, deviation })
    }

    fn score(self, value: f64) -> f64 {
        (value - self.median) / self.deviation
    }
}

/// Finds outliers by distance from the median; `None` if the distribution is skewed. If all numbers of a small sample are positive, an
/// outlier must also be one on a logarithmic scale.
fn outliers_by_median(
    amounts: &[(usize, Amount)],
    sorted: &[f64],
    scale: RobustScale,
) -> Option<Vec<ScoredRow>> {
    if is_skewed(sorted) {
        return None;
    }
    let logarithms: Option<Vec<f64>> = sorted
        .iter()
        .map(|value| (0.0 < *value).then(|| value.ln()))
        .collect();
    // Large samples have enough values for the octiles alone to exclude a skewed distribution.
    let logarithmic = logarithms
        .filter(|_| sorted.len() < LARGE_SAMPLE)
        .and_then(|sorted| RobustScale::of(&sorted));
    let is_far = |score: f64| score.is_finite() && MAX_MODIFIED_Z < score.abs();
    let scored = amounts
        .iter()
        .map(|(row, amount)| (*row, *amount, scale.score(amount.to_f64())));
    let far = scored.filter(|(_, amount, score)| {
        let is_far_in_logarithms =
            || logarithmic.is_none_or(|scale| is_far(scale.score(amount.to_f64().ln())));
        is_far(*score) && is_far_in_logarithms()
    });
    Some(far.collect())
}

/// Returns true if one side of the median is longer than the other by more than chance.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn is_skewed(sorted: &[f64]) -> bool {
    let (low, median, high) = (
        quantile(sorted, 0.125),
        quantile(sorted, 0.5),
        quantile(sorted, 0.875),
    );
    let skewness = (high + low - 2.0 * median) / (high - low);
    let chance = CHANCE_SKEWNESS / (sorted.len() as f64).sqrt();
    skewness.is_finite() && chance.max(MIN_SKEWNESS) < skewness.abs()
}

/// Finds outliers by distance from the mean, if a gap separates them from all other numbers.
fn outliers_by_mean(
    amounts: &[(usize, Amount)],
    mean: f64,
    deviation: f64,
) -> Option<Vec<ScoredRow>> {
    let scored = amounts
        .iter()
        .map(|(row, amount)| (*row, *amount, (amount.to_f64() - mean) / deviation));
    let (far, near): (Vec<ScoredRow>, Vec<ScoredRow>) = scored
        .filter(|(.., score)| score.is_finite())
        .partition(|(.., score)| MAX_Z < score.abs());
    let nearest = far
        .iter()
        .map(|(.., score)| score.abs())
        .fold(f64::INFINITY, f64::min);
    let farthest = near
        .iter()
        .map(|(.., score)| score.abs())
        .fold(0.0, f64::max);
    (farthest * MIN_GAP <= nearest).then_some(far)
}

/// Returns a quantile of sorted numbers, with linear interpolation.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts stay far below 2^53"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
    let (lower, upper) = (at(position.floor()), at(position.ceil()));
    lower + (upper - lower) * position.fract()
}

/// Maximum number of groups that are listed.
const MAX_GROUPS: usize = 10;

/// Maximum number of fields whose groups have figures, and of numeric and flag fields with figures per group.
const MAX_GROUPED_FIELDS: usize = 5;
const MAX_NUMBER_FIELDS: usize = 5;
const MAX_FLAG_FIELDS: usize = 5;

/// Groups a column by value; `None` unless values repeat at least twice on average.
pub(crate) fn groups(
    column: &Column<'_>,
    counts: &HashMap<ValueKey<'_>, usize>,
) -> Option<ValueGroups> {
    let values = counts.iter().filter(|(key, _)| is_grouped(key, column));
    let mut found: Vec<(ValueKey<'_>, usize)> = values.map(|(key, count)| (*key, *count)).collect();
    let total: usize = found.iter().map(|(_, count)| count).sum();
    if found.is_empty() || total < found.len() * 2 {
        return None;
    }
    // Ties are sorted by value, because the map has no order.
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let top: Vec<ValueGroup> = found
        .iter()
        .take(MAX_GROUPS)
        .filter_map(|(key, count)| {
            Some(ValueGroup {
                value: display_key(key),
                count: *count,
                share: Amount::ratio(*count, total)?,
                sums: IndexMap::new(),
                means: IndexMap::new(),
                units: IndexMap::new(),
                rates: IndexMap::new(),
            })
        })
        .collect();
    let listed: usize = top.iter().map(|group| group.count).sum();
    Some(ValueGroups {
        groups_left_out: found.len() - top.len(),
        records_left_out: total - listed,
        top,
    })
}

/// Returns true if a value can name a group. Booleans have separate counts.
fn is_grouped(key: &ValueKey<'_>, column: &Column<'_>) -> bool {
    match key {
        ValueKey::Text(_) => true,
        ValueKey::Number(number) => {
            number.to_integer().is_some() && (is_label(column.role()) || is_entity(column.role()))
        }
        ValueKey::Bool(_) | ValueKey::Real(_) => false,
    }
}

fn display_key(key: &ValueKey<'_>) -> Value {
    match *key {
        ValueKey::Text(text) => clip_value(&Value::text(text)),
        ValueKey::Bool(value) => Value::Bool(value),
        ValueKey::Number(number) => number
            .to_integer()
            .and_then(|whole| i64::try_from(whole).ok())
            .map_or_else(
                || Value::text(number.to_string()),
                |whole| Value::Number(whole.into()),
            ),
        ValueKey::Real(bits) => Value::text(f64::from_bits(bits).to_string()),
    }
}

/// Adds figures of other fields to the groups of the first fields that have few groups.
pub(crate) fn add_group_figures(series: &[FieldSeries<'_, '_>], fields: &mut [FieldAnalysis]) {
    let others: Vec<MeasureColumn<'_>> = series.iter().filter_map(MeasureColumn::of).collect();
    // If groups are left out, figures of the remaining ones would look complete.
    let few = series.iter().zip(fields).filter_map(|(series, field)| {
        let groups = field.groups.as_mut()?;
        (groups.groups_left_out == 0).then_some((series.column, groups))
    });
    for (column, groups) in few.take(MAX_GROUPED_FIELDS) {
        let mut members: BTreeMap<ValueKey<'_>, Vec<usize>> = BTreeMap::new();
        for (row, value) in &column.entries {
            if let Some(key) = ValueKey::of(value) {
                members.entry(key).or_default().push(*row);
            }
        }
        // Both lists have the same order, so that a group finds its members although its text was cut.
        let mut of_groups: Vec<(&ValueKey<'_>, &Vec<usize>)> = members
            .iter()
            .filter(|(key, _)| is_grouped(key, column))
            .collect();
        of_groups.sort_by(|one, other| {
            let more = other.1.len().cmp(&one.1.len());
            more.then_with(|| one.0.cmp(other.0))
        });
        for (group, (_, rows)) in groups.top.iter_mut().zip(of_groups) {
            add_measures(group, rows, &others);
        }
    }
}

/// The numbers and flags of a field by row.
struct MeasureColumn<'s> {
    name: &'s str,
    quantities: Option<&'s Quantities>,
    numbers: HashMap<usize, &'s Quantity>,
    flags: HashMap<usize, bool>,
}

impl<'s> MeasureColumn<'s> {
    fn of(series: &'s FieldSeries<'_, '_>) -> Option<Self> {
        let entries = series.quantities.iter().flat_map(|read| &read.entries);
        let other = Self {
            name: &series.column.name,
            quantities: series.quantities.as_ref(),
            numbers: entries.map(|entry| (entry.row, entry)).collect(),
            flags: series.flags.iter().copied().collect(),
        };
        let has_any = !other.numbers.is_empty() || !other.flags.is_empty();
        (has_any && !other.name.is_empty()).then_some(other)
    }
}

/// Adds the figures of a group's rows: sums and means of numbers with one unit, and counts of flags.
fn add_measures(group: &mut ValueGroup, rows: &[usize], others: &[MeasureColumn<'_>]) {
    for other in others
        .iter()
        .filter(|other| !other.numbers.is_empty())
        .take(MAX_NUMBER_FIELDS)
    {
        let inside: Vec<&Quantity> = rows
            .iter()
            .filter_map(|row| other.numbers.get(row).copied())
            .collect();
        let (Some(read), Some(first)) = (other.quantities, inside.first()) else {
            continue;
        };
        let unit = read.unit_of(first);
        // Numbers in different units have no common sum.
        if inside.iter().any(|entry| read.unit_of(entry) != unit) {
            continue;
        }
        let mut amounts: Vec<Amount> = inside.iter().map(|entry| entry.amount).collect();
        // In sorted order, a rounded sum does not depend on the order of the records.
        amounts.sort_by(Amount::compare);
        let name = other.name.to_owned();
        if let Some(unit) = unit {
            group.units.insert(name.clone(), unit.to_owned());
        }
        let sum = Amount::sum(&amounts);
        if let Some(mean) = mean(&amounts, sum) {
            group.means.insert(name.clone(), mean);
        }
        if let Some(sum) = sum.filter(|_| read.is_summed(unit)) {
            group.sums.insert(name, sum);
        }
    }
    for other in others
        .iter()
        .filter(|other| !other.flags.is_empty())
        .take(MAX_FLAG_FIELDS)
    {
        let inside: Vec<bool> = rows
            .iter()
            .filter_map(|row| other.flags.get(row).copied())
            .collect();
        let set = inside.iter().filter(|flag| **flag).count();
        if !inside.is_empty() {
            let counts = BooleanCounts {
                r#true: set,
                r#false: inside.len() - set,
            };
            group.rates.insert(other.name.to_owned(), counts);
        }
    }
}
