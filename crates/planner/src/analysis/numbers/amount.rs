//! Numbers that are marked as exact or rounded.

use std::cmp::Ordering;
use std::fmt;

use planwright_core::Value;
use serde::{Serialize, Serializer};

use super::decimal::Decimal;

/// The significant digits of a number computed in floating point.
const FLOAT_DIGITS: usize = 15;

/// The significant digits of a rounded number in a text.
const MAX_SHOWN_DIGITS: u32 = 10;

/// A number of a result, or one computed from such numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// An exact number.
    Exact(Decimal),
    /// A rounded number.
    Rounded(Decimal),
    /// A finite number with too many digits for a [`Decimal`].
    Real(f64),
}

impl Amount {
    /// Converts a value, as written; `None` if it is not a number.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let Value::Number(number) = value else {
            return None;
        };
        if let Some(whole) = number.as_i64() {
            return Some(Self::Exact(Decimal::new(whole.into(), 0)));
        }
        Decimal::parse(&number.to_string())
            .map(Self::Exact)
            .or_else(|| {
                Some(Self::Real(
                    number.as_f64().filter(|value| value.is_finite())?,
                ))
            })
    }

    pub(crate) fn from_count(count: usize) -> Self {
        Self::Exact(Decimal::from_count(count))
    }

    /// Converts a number computed in floating point; `None` if it is not finite.
    pub(crate) fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        if value == 0.0 {
            return Some(Self::from_count(0));
        }
        let rounded = Decimal::parse(&format!("{:.*e}", FLOAT_DIGITS - 1, value));
        Some(rounded.map_or(Self::Real(value), Self::Rounded))
    }

    /// Divides two counts; `None` if `whole` is zero.
    pub(crate) fn ratio(part: usize, whole: usize) -> Option<Self> {
        Self::quotient(Decimal::from_count(part), whole)
    }

    /// Divides a number by a count.
    pub(crate) fn quotient(number: Decimal, count: usize) -> Option<Self> {
        let (quotient, is_exact) = number.divided(count)?;
        // Long exact quotients are marked as rounded, so that texts show ten digits of them instead of twenty.
        Some(if is_exact && quotient.is_short() {
            Self::Exact(quotient)
        } else {
            Self::Rounded(quotient)
        })
    }

    /// Rounds to four digits, for estimates.
    pub(crate) fn rough(self) -> Self {
        match self {
            Self::Exact(number) | Self::Rounded(number) => Self::Rounded(number.rounded(4)),
            Self::Real(_) => self,
        }
    }

    /// Returns the decimal number if it is exact.
    pub(crate) fn exact(self) -> Option<Decimal> {
        match self {
            Self::Exact(number) => Some(number),
            Self::Rounded(_) | Self::Real(_) => None,
        }
    }

    /// Returns the nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(number) | Self::Rounded(number) => number.to_f64(),
            Self::Real(value) => value,
        }
    }

    /// Orders numbers by value.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one.cmp(other),
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// Adds numbers. The sum is exact if all of them are and it has at most 38 digits; `None` if it is not finite.
    pub(crate) fn sum(amounts: &[Self]) -> Option<Self> {
        let exact: Option<Vec<Decimal>> = amounts.iter().map(|amount| amount.exact()).collect();
        if let Some(sum) = exact.and_then(|exact| Decimal::sum(exact.into_iter())) {
            return Some(Self::Exact(sum));
        }
        // Neumaier's compensated summation: `lost` collects the low-order digits that each addition drops.
        let (mut total, mut lost) = (0.0_f64, 0.0_f64);
        for value in amounts.iter().map(|amount| amount.to_f64()) {
            let next = total + value;
            lost += if value.abs() <= total.abs() {
                (total - next) + value
            } else {
                (value - next) + total
            };
            total = next;
        }
        Self::from_f64(total + lost)
    }
}

/// Writes all digits of an exact number, and `about` with ten digits of any other.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(number) => number.fmt(f),
            Self::Rounded(number) => write!(f, "about {}", number.rounded(MAX_SHOWN_DIGITS)),
            Self::Real(value) => write!(f, "about {value:e}"),
        }
    }
}

/// Serializes a number; an exact one that fits neither 64-bit integers nor `f64` becomes a text of its digits.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = match *self {
            Self::Real(value) => return serializer.serialize_f64(value),
            Self::Rounded(number) => return serializer.serialize_f64(number.to_f64()),
            Self::Exact(number) => number,
        };
        if let Some(whole) = number.to_integer() {
            return match (i64::try_from(whole), u64::try_from(whole)) {
                (Ok(whole), _) => serializer.serialize_i64(whole),
                (_, Ok(whole)) => serializer.serialize_u64(whole),
                _ => serializer.serialize_str(&number.to_string()),
            };
        }
        // Readers parse JSON numbers as `f64`; a number that it cannot represent is a text, so that no digit is lost.
        let nearest = number.to_f64();
        if Decimal::parse(&format!("{nearest:e}")) == Some(number) {
            serializer.serialize_f64(nearest)
        } else {
            serializer.serialize_str(&number.to_string())
        }
    }
}
