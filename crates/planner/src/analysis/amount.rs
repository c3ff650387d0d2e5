//! Numbers that say whether they are exact.

use std::cmp::Ordering;
use std::fmt;

use planwright_core::Value;
use serde::{Serialize, Serializer};

use super::decimal::Decimal;

/// The significant digits of a number that is computed in binary.
const DIGITS: usize = 15;

/// The most significant digits of a rounded number in a text.
const DIGITS_SHOWN: u32 = 10;

/// A number of a result, or one computed of such numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Amount {
    /// All digits are right and none is left out.
    Exact(Decimal),
    /// The digits are rounded.
    Rounded(Decimal),
    /// A finite number with too many digits for the others.
    Real(f64),
}

impl Amount {
    /// The number that a value is, as it is written.
    pub(super) fn of(value: &Value) -> Option<Self> {
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

    /// A count.
    pub(super) fn whole(count: usize) -> Self {
        Self::Exact(Decimal::whole(count))
    }

    /// A number that was computed in binary; `None` if it is not finite.
    pub(super) fn computed(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        if value == 0.0 {
            return Some(Self::whole(0));
        }
        let rounded = Decimal::parse(&format!("{:.*e}", DIGITS - 1, value));
        Some(rounded.map_or(Self::Real(value), Self::Rounded))
    }

    /// The quotient of two counts; `None` if the second one is zero.
    pub(super) fn ratio(part: usize, whole: usize) -> Option<Self> {
        Self::quotient(Decimal::whole(part), whole)
    }

    /// The quotient of a number and a count.
    pub(super) fn quotient(number: Decimal, count: usize) -> Option<Self> {
        let (quotient, is_exact) = number.divided(count)?;
        // Twenty digits behind a point help no reader.
        Some(if is_exact && quotient.is_short() {
            Self::Exact(quotient)
        } else {
            Self::Rounded(quotient)
        })
    }

    /// The same with four digits, for what is only an estimate.
    pub(super) fn rough(self) -> Self {
        match self {
            Self::Exact(number) | Self::Rounded(number) => Self::Rounded(number.shortened(4)),
            Self::Real(_) => self,
        }
    }

    /// The decimal number, unless it is rounded.
    pub(super) fn exact(self) -> Option<Decimal> {
        match self {
            Self::Exact(number) => Some(number),
            _ => None,
        }
    }

    /// The nearest binary number.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(number) | Self::Rounded(number) => number.to_f64(),
            Self::Real(value) => value,
        }
    }

    /// The order of numbers.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one.cmp(other),
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// The sum: exact if all numbers are and it has at most 38 digits; `None` if it is not finite.
    pub(super) fn sum(amounts: &[Self]) -> Option<Self> {
        let exact: Option<Vec<Decimal>> = amounts.iter().map(|amount| amount.exact()).collect();
        if let Some(sum) = exact.and_then(|exact| Decimal::sum(exact.into_iter())) {
            return Some(Self::Exact(sum));
        }
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
        Self::computed(total + lost)
    }
}

/// All digits of an exact number, `about` and ten digits of any other.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(number) => number.fmt(f),
            Self::Rounded(number) => write!(f, "about {}", number.shortened(DIGITS_SHOWN)),
            Self::Real(value) => write!(f, "about {value:e}"),
        }
    }
}

/// A number; an exact one that no 64 bits can represent is a text of its digits.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = match *self {
            Self::Real(value) => return serializer.serialize_f64(value),
            Self::Rounded(number) => return serializer.serialize_f64(number.to_f64()),
            Self::Exact(number) => number,
        };
        if let Some(whole) = number.to_whole() {
            return match (i64::try_from(whole), u64::try_from(whole)) {
                (Ok(whole), _) => serializer.serialize_i64(whole),
                (_, Ok(whole)) => serializer.serialize_u64(whole),
                _ => serializer.serialize_str(&number.to_string()),
            };
        }
        let nearest = number.to_f64();
        if Decimal::parse(&format!("{nearest:e}")) == Some(number) {
            serializer.serialize_f64(nearest)
        } else {
            serializer.serialize_str(&number.to_string())
        }
    }
}
