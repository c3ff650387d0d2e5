//! How numbers are spread: their middle, their ends, and those far from all others.

use super::amount::Amount;
use super::report::{Mark, Method, Numbers, Outlier, Outliers};

/// The fewest numbers among which one can be far from the others.
const FEWEST: usize = 8;

/// The most that are told of those far from the others.
const FARTHEST: usize = 5;

/// Beyond which score a number is far from the others, by either measure.
const FAR_MODIFIED: f64 = 3.5;
const FAR: f64 = 3.0;

/// What makes the median of the deviations comparable with a standard deviation, for numbers that are spread normally.
const NORMAL: f64 = 0.6745;

/// What numbers come to as a whole, where there are any. Each comes with the number of its item.
pub(super) fn numbers(
    amounts: &[(usize, Amount)],
    place: &dyn Fn(usize) -> (String, Option<String>),
) -> Option<Numbers> {
    let mut sorted: Vec<Amount> = amounts.iter().map(|(_, amount)| *amount).collect();
    sorted.sort_by(Amount::order);
    let mark = |wanted: &Amount| {
        let (item, value) = amounts.iter().find(|(_, amount)| amount == wanted)?;
        let (at, name) = place(*item);
        let value = *value;
        Some(Mark { at, name, value })
    };
    let sum = Amount::sum(&sorted);
    let mean = mean(&sorted, sum);
    let deviation = mean.and_then(|mean| deviation(&sorted, mean));
    Some(Numbers {
        count: sorted.len(),
        sum,
        mean: mean.and_then(Amount::computed),
        median: median(&sorted)?,
        deviation: deviation.and_then(Amount::computed),
        min: mark(sorted.first()?)?,
        max: mark(sorted.last()?)?,
        outliers: outliers(amounts, &sorted, mean, deviation, place),
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn mean(sorted: &[Amount], sum: Option<Amount>) -> Option<f64> {
    let count = sorted.len() as f64;
    let mean = match sum {
        Some(sum) => sum.to_f64() / count,
        // The sum is too large, and its parts are not.
        None => sorted.iter().map(|amount| amount.to_f64() / count).sum(),
    };
    mean.is_finite().then_some(mean)
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn deviation(sorted: &[Amount], mean: f64) -> Option<f64> {
    let squares = sorted.iter().map(|amount| (amount.to_f64() - mean).powi(2));
    let variance =
        squares.sum::<f64>() / (sorted.len().checked_sub(1).filter(|more| 0 < *more)? as f64);
    variance.is_finite().then(|| variance.sqrt())
}

fn median(sorted: &[Amount]) -> Option<Amount> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    match (lower, upper) {
        (Amount::Whole(lower), Amount::Whole(upper)) if (lower + upper) % 2 == 0 => {
            Some(Amount::Whole(i128::midpoint(lower, upper)))
        }
        _ => Amount::computed(f64::midpoint(lower.to_f64(), upper.to_f64())),
    }
}

fn outliers(
    amounts: &[(usize, Amount)],
    sorted: &[Amount],
    mean: Option<f64>,
    deviation: Option<f64>,
    place: &dyn Fn(usize) -> (String, Option<String>),
) -> Option<Outliers> {
    if sorted.len() < FEWEST {
        return None;
    }
    let middle = median(sorted)?.to_f64();
    let mut deviations: Vec<f64> = sorted
        .iter()
        .map(|amount| (amount.to_f64() - middle).abs())
        .collect();
    deviations.sort_by(f64::total_cmp);
    let upper = deviations[deviations.len() / 2];
    let lower = deviations[(deviations.len() - 1) / 2];
    let usual = f64::midpoint(lower, upper);
    let (method, middle, scale, far) = if 0.0 < usual {
        (Method::ModifiedZ, middle, usual / NORMAL, FAR_MODIFIED)
    } else {
        let deviation = deviation.filter(|deviation| 0.0 < *deviation)?;
        (Method::Z, mean?, deviation, FAR)
    };
    let mut found: Vec<(usize, Amount, f64)> = amounts
        .iter()
        .map(|(item, amount)| (*item, *amount, (amount.to_f64() - middle) / scale))
        .filter(|(.., score)| score.is_finite() && far < score.abs())
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by(|one, other| {
        let farther = other.2.abs().total_cmp(&one.2.abs());
        farther.then_with(|| one.0.cmp(&other.0))
    });
    let farthest = found
        .iter()
        .take(FARTHEST)
        .filter_map(|(item, value, score)| {
            let (at, name) = place(*item);
            let value = *value;
            Some(Outlier {
                mark: Mark { at, name, value },
                score: Amount::computed(*score)?.rough(),
            })
        });
    Some(Outliers {
        method,
        count: found.len(),
        farthest: farthest.collect(),
    })
}
