//! Numbers that are exact where they are whole.

use std::cmp::Ordering;
use std::fmt;

use planwright_core::Value;
use serde::{Serialize, Serializer};

/// How many digits of a computed number are told: enough for any amount, too few for the noise of binary fractions.
const DIGITS: usize = 15;

/// A number. Whole ones are exact; others are finite, and have at most fifteen digits where they were computed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Amount {
    /// A whole number.
    Whole(i128),
    /// Any other.
    Real(f64),
}

impl Amount {
    pub(super) fn of(value: &Value) -> Option<Self> {
        let Value::Number(number) = value else {
            return None;
        };
        let whole = number.as_i64().map(i128::from);
        whole
            .or_else(|| number.as_u64().map(i128::from))
            .map(Self::Whole)
            .or_else(|| number.as_f64().map(Self::Real))
    }

    /// A number that was computed; nothing where it is not finite.
    pub(super) fn computed(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let rounded = format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value);
        // A zero has no sign.
        Some(Self::Real(rounded + 0.0))
    }

    /// The same with few digits, for what is only estimated.
    pub(super) fn rough(self) -> Self {
        match self {
            Self::Real(value) => Self::Real(format!("{value:.3e}").parse().unwrap_or(value)),
            Self::Whole(_) => self,
        }
    }

    /// The nearest number that the machine computes with.
    #[expect(clippy::cast_precision_loss, reason = "statistics need no more")]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// The order of numbers; equal ones by their kind, so that sorting never depends on where they stood.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one.cmp(other),
            _ => self
                .to_f64()
                .total_cmp(&other.to_f64())
                .then_with(|| self.is_whole().cmp(&other.is_whole())),
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// The sum of sorted numbers: exact where all are whole.
    pub(super) fn sum(sorted: &[Self]) -> Option<Self> {
        let mut whole: i128 = 0;
        let mut is_whole = true;
        let (mut total, mut lost) = (0.0_f64, 0.0_f64);
        for amount in sorted {
            match amount {
                Self::Whole(value) => whole = whole.checked_add(*value)?,
                Self::Real(value) => {
                    is_whole = false;
                    let next = total + value;
                    lost += if value.abs() <= total.abs() {
                        (total - next) + value
                    } else {
                        (value - next) + total
                    };
                    total = next;
                }
            }
        }
        if is_whole {
            return Some(Self::Whole(whole));
        }
        Self::computed(total + lost + Self::Whole(whole).to_f64())
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) if value.abs() < 1e-6 && *value != 0.0 || 1e16 <= value.abs() => {
                write!(f, "{value:e}")
            }
            Self::Real(value) => value.fmt(f),
        }
    }
}

/// A number; a whole one that no 64 bits can hold is a text of its digits.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Real(value) => serializer.serialize_f64(value),
            Self::Whole(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(value), _) => serializer.serialize_i64(value),
                (_, Ok(value)) => serializer.serialize_u64(value),
                _ => serializer.serialize_str(&value.to_string()),
            },
        }
    }
}
