//! How numbers are spread: their sum, middle, deviation and ends.

use super::amount::Amount;
use super::decimal::Decimal;
use super::outlier;
use super::report::{Mark, Numbers};

/// The place of a row, and its name.
pub(super) type Place<'p> = &'p dyn Fn(usize) -> (String, Option<String>);

/// Statistics of numbers, each with its row; `None` if there are none. `is_summed` says whether their sum means anything.
pub(super) fn numbers(
    unit: Option<&str>,
    is_summed: bool,
    amounts: &[(usize, Amount)],
    place: Place<'_>,
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
    let deviation = deviation(&sorted, sum, mean);
    Some(Numbers {
        unit: unit.map(str::to_owned),
        count: sorted.len(),
        sum: sum.filter(|_| is_summed),
        mean,
        median: median(&sorted)?,
        deviation: deviation.and_then(Amount::computed),
        min: mark(sorted.first()?)?,
        max: mark(sorted.last()?)?,
        outliers: outlier::outliers(amounts, &sorted, mean, deviation, place),
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
pub(super) fn mean(sorted: &[Amount], sum: Option<Amount>) -> Option<Amount> {
    let count = sorted.len() as f64;
    match sum {
        Some(Amount::Exact(sum)) => Amount::quotient(sum, sorted.len()),
        Some(sum) => Amount::computed(sum.to_f64() / count),
        // The sum is too large, and its parts are not.
        None => Amount::computed(sorted.iter().map(|amount| amount.to_f64() / count).sum()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
fn deviation(sorted: &[Amount], sum: Option<Amount>, mean: Option<Amount>) -> Option<f64> {
    let count = sorted.len();
    let binary = mean?.to_f64();
    // Large numbers that hardly differ lose their difference in binary, so that it is computed before.
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
        _ => Amount::computed(f64::midpoint(lower.to_f64(), upper.to_f64())),
    }
}
