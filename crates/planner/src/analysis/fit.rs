//! A line through points, and whether it says anything.

use super::amount::Amount;
use super::report::{Direction, Per, Trend};

/// The fewest points that a line says anything about.
const FEWEST: usize = 4;

/// A change over all points that is no more than this share of their mean is none.
const FLAT: f64 = 0.05;

/// Points that stray from the line by more than this share of their mean are not flat, whatever the line does.
const STEADY: f64 = 0.1;

/// Student's t for 5 % on both sides, by degrees of freedom; for more of them the last, which is on the safe side.
const CRITICAL: &[(usize, f64)] = &[
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

/// How `points` go, in the order of their first numbers; nothing where there are too few.
#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
pub(super) fn trend(points: &[(f64, f64)], of: Option<&str>, per: Per) -> Option<Trend> {
    let count = points.len();
    if count < FEWEST {
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
    let strays = (yy - slope * xy).max(0.0);
    let fit = if yy <= 0.0 {
        1.0
    } else {
        (1.0 - strays / yy).clamp(0.0, 1.0)
    };
    let first = points.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let last = points
        .iter()
        .map(|(x, _)| *x)
        .fold(f64::NEG_INFINITY, f64::max);
    let change = (slope * (last - first)).abs();
    let degrees = count - 2;
    let error = (strays / degrees as f64).sqrt();
    let is_flat = change <= FLAT * mean_y.abs() && error <= STEADY * mean_y.abs();
    // What is left of a perfect fit is noise of the machine.
    let is_sure = strays <= yy * 1e-12 || critical(degrees) * error / xx.sqrt() < slope.abs();
    let direction = match (is_flat, is_sure) {
        (true, _) => Direction::Flat,
        (false, true) if 0.0 < slope => Direction::Rising,
        (false, true) if slope < 0.0 => Direction::Falling,
        _ => Direction::Unclear,
    };
    Some(Trend {
        of: of.map(str::to_owned),
        per,
        points: count,
        slope: Amount::computed(slope)?,
        fit: Amount::computed(fit)?,
        direction,
    })
}

fn critical(degrees: usize) -> f64 {
    let known = CRITICAL.iter().rev().find(|(at, _)| *at <= degrees);
    known.map_or(f64::INFINITY, |(_, value)| *value)
}
