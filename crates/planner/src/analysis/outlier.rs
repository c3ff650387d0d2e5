//! Numbers far from all others, unless the numbers are spread so that some always are.

use super::amount::Amount;
use super::report::{Mark, Method, Outlier, Outliers};
use super::spread::Place;

/// The fewest numbers among which one can be far from the others.
const FEWEST: usize = 8;

/// The most that are named of those far from the others.
const FARTHEST: usize = 5;

/// The score beyond which a number is far from the others, by either measure.
const FAR_MODIFIED: f64 = 3.5;
const FAR: f64 = 3.0;

/// What makes the median of the deviations comparable with a standard deviation, for numbers that are spread normally.
const NORMAL: f64 = 0.6745;

/// The largest share of numbers that can be far from the others. If there are more, the numbers have long tails.
const MAX_SHARE: f64 = 0.1;

/// The count from which the octiles alone tell whether numbers are skewed.
const MANY: usize = 1000;

/// The least skewness of octiles that counts, and what it takes among few numbers: so many times the root of their count.
const SKEWED: f64 = 0.1;
const SKEWED_BY_CHANCE: f64 = 2.5;

/// How much farther than any other number one has to be if most numbers are the same.
const GAP: f64 = 2.0;

/// A row, its number, and how far that is from the others.
type Scored = (usize, Amount, f64);

/// The numbers far from the others; `None` if there are none, or if the spread of the numbers does not tell.
pub(super) fn outliers(
    amounts: &[(usize, Amount)],
    sorted: &[Amount],
    mean: Option<Amount>,
    deviation: Option<f64>,
    place: Place<'_>,
) -> Option<Outliers> {
    if sorted.len() < FEWEST {
        return None;
    }
    let values: Vec<f64> = sorted.iter().map(|amount| amount.to_f64()).collect();
    let (method, mut found) = match Scale::of(&values) {
        Some(scale) => (Method::ModifiedZ, by_median(amounts, &values, scale)?),
        None => (Method::Z, by_mean(amounts, mean?.to_f64(), deviation?)?),
    };
    if found.is_empty() || too_many(found.len(), sorted.len()) {
        return None;
    }
    found.sort_by(|one, other| {
        let farther = other.2.abs().total_cmp(&one.2.abs());
        farther.then_with(|| one.0.cmp(&other.0))
    });
    let farthest = found
        .iter()
        .take(FARTHEST)
        .filter_map(|(row, value, score)| {
            let (at, name) = place(*row);
            let value = *value;
            Some(Outlier {
                mark: Mark { at, name, value },
                score: Amount::computed(*score)?,
            })
        });
    Some(Outliers {
        method,
        count: found.len(),
        farthest: farthest.collect(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn too_many(found: usize, all: usize) -> bool {
    1 < found && MAX_SHARE * (all as f64) < found as f64
}

/// The median of numbers, and of their distances from it.
#[derive(Clone, Copy)]
struct Scale {
    middle: f64,
    usual: f64,
}

impl Scale {
    /// `None` if half of the numbers are the same.
    fn of(sorted: &[f64]) -> Option<Self> {
        let middle = quantile(sorted, 0.5);
        let mut distances: Vec<f64> = sorted.iter().map(|value| (value - middle).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let usual = quantile(&distances, 0.5) / NORMAL;
        (0.0 < usual).then_some(Self { middle, usual })
    }

    fn score(self, value: f64) -> f64 {
        (value - self.middle) / self.usual
    }
}

/// Numbers far from the median. Those of skewed numbers are none: if the logarithms are spread evenly, the numbers are not.
fn by_median(amounts: &[(usize, Amount)], sorted: &[f64], scale: Scale) -> Option<Vec<Scored>> {
    if is_skewed(sorted) {
        return None;
    }
    let logarithms: Option<Vec<f64>> = sorted
        .iter()
        .map(|value| (0.0 < *value).then(|| value.ln()))
        .collect();
    let logarithmic = logarithms
        .filter(|_| sorted.len() < MANY)
        .and_then(|sorted| Scale::of(&sorted));
    let is_far = |score: f64| score.is_finite() && FAR_MODIFIED < score.abs();
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

/// Whether one side of the middle half and more is longer than the other, by more than chance.
#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn is_skewed(sorted: &[f64]) -> bool {
    let (low, middle, high) = (
        quantile(sorted, 0.125),
        quantile(sorted, 0.5),
        quantile(sorted, 0.875),
    );
    let skewness = (high + low - 2.0 * middle) / (high - low);
    let chance = SKEWED_BY_CHANCE / (sorted.len() as f64).sqrt();
    skewness.is_finite() && chance.max(SKEWED) < skewness.abs()
}

/// Numbers far from the mean, if there is a gap between them and all others.
fn by_mean(amounts: &[(usize, Amount)], mean: f64, deviation: f64) -> Option<Vec<Scored>> {
    let scored = amounts
        .iter()
        .map(|(row, amount)| (*row, *amount, (amount.to_f64() - mean) / deviation));
    let (far, near): (Vec<Scored>, Vec<Scored>) = scored
        .filter(|(.., score)| score.is_finite())
        .partition(|(.., score)| FAR < score.abs());
    let nearest = far
        .iter()
        .map(|(.., score)| score.abs())
        .fold(f64::INFINITY, f64::min);
    let farthest = near
        .iter()
        .map(|(.., score)| score.abs())
        .fold(0.0, f64::max);
    (farthest * GAP <= nearest).then_some(far)
}

/// A quantile of sorted numbers, between two of them by their distance.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "there are never so many"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
    let (lower, upper) = (at(position.floor()), at(position.ceil()));
    lower + (upper - lower) * position.fract()
}
