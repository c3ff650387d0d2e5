//! Numbers that are marked as exact or rounded, and decimal numbers of up to 38 digits, with exact sums.

use std::cmp::Ordering;
use std::fmt;

use planwright_core::Value;
use serde::{Serialize, Serializer};

/// The significant digits of a number computed in floating point: `f64` represents every decimal of 15 digits.
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
        // Both zeros, without a sign.
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
    pub(crate) fn rounded_for_estimate(self) -> Self {
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

/// The maximum number of fractional digits, so that an `i128` of 38 digits has two before the point.
const MAX_SCALE: u32 = 36;

/// The significant digits of a quotient without a finite expansion.
const MIN_QUOTIENT_DIGITS: u32 = 15;

/// An exact decimal number.
///
/// Equal numbers have equal representations: the last fractional digit is never a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    digits: i128,
    /// The number of fractional digits.
    scale: u32,
}

impl Decimal {
    /// Creates `digits` × 10<sup>-scale</sup>.
    pub(crate) fn new(mut digits: i128, mut scale: u32) -> Self {
        while 0 < scale && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        Self { digits, scale }
    }

    pub(crate) fn from_count(count: usize) -> Self {
        Self::new(i128::try_from(count).unwrap_or(i128::MAX), 0)
    }

    /// Parses digits with an optional sign, point, and exponent; `None` if they do not fit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (text, exponent) = match text.split_once(['e', 'E']) {
            None => (text, 0),
            Some((text, exponent)) => (text, exponent.parse::<i32>().ok()?),
        };
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = format!("{whole}{fraction}");
        if whole.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits: i128 = all.parse().ok()?;
        let number = Self::new(
            if is_negative { -digits } else { digits },
            u32::try_from(fraction.len()).ok()?,
        );
        number.shifted(exponent)
    }

    /// Multiplies by ten to the power of `exponent`.
    pub(crate) fn shifted(self, exponent: i32) -> Option<Self> {
        let scale = i32::try_from(self.scale).ok()?.checked_sub(exponent)?;
        let moved = match u32::try_from(scale) {
            Ok(scale) => Self::new(self.digits, scale),
            Err(_) if self.digits == 0 => self,
            Err(_) => Self::new(self.digits.checked_mul(power(scale.unsigned_abs())?)?, 0),
        };
        (moved.scale <= MAX_SCALE).then_some(moved)
    }

    /// Adds numbers; `None` on overflow.
    pub(crate) fn sum(numbers: impl Iterator<Item = Self> + Clone) -> Option<Self> {
        let scale = numbers.clone().map(|number| number.scale).max()?;
        let mut total: i128 = 0;
        for number in numbers {
            total = total.checked_add(number.at_scale(scale)?)?;
        }
        Some(Self::new(total, scale))
    }

    /// Subtracts; `None` on overflow.
    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        let negative = Self::new(other.digits.checked_neg()?, other.scale);
        Self::sum([self, negative].into_iter())
    }

    /// Multiplies by a count; `None` on overflow.
    pub(crate) fn times(self, count: usize) -> Option<Self> {
        let digits = self.digits.checked_mul(i128::try_from(count).ok()?)?;
        Some(Self::new(digits, self.scale))
    }

    /// Divides by a count, and returns whether the quotient is exact. An inexact one has at least
    /// fifteen correct digits, or 36 fractional ones.
    pub(crate) fn divided(self, count: usize) -> Option<(Self, bool)> {
        let count = i128::try_from(count).ok().filter(|count| 0 < *count)?;
        // Long division, one more digit per iteration.
        let (mut digits, mut scale) = (self.digits, self.scale);
        let enough = 10_i128.pow(MIN_QUOTIENT_DIGITS - 1);
        loop {
            if digits % count == 0 {
                return Some((Self::new(digits / count, scale), true));
            }
            // Four digits more than the dividend, but at least fifteen significant ones, unless the scale is exhausted.
            let is_precise =
                self.scale + 4 <= scale && enough <= (digits / count).abs() || MAX_SCALE <= scale;
            let Some(more) = digits.checked_mul(10).filter(|_| !is_precise) else {
                let half = if digits < 0 { -count / 2 } else { count / 2 };
                let rounded = digits.checked_add(half)? / count;
                return Some((Self::new(rounded, scale), false));
            };
            (digits, scale) = (more, scale + 1);
        }
    }

    /// Rounds to at most `max_digits` significant digits, but keeps at least two fractional digits.
    pub(crate) fn rounded(self, max_digits: u32) -> Self {
        let length = self.digits.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
        let surplus = length
            .saturating_sub(max_digits)
            .min(self.scale.saturating_sub(2));
        let Some(unit) = power(surplus).filter(|unit| 1 < *unit) else {
            return self;
        };
        let half = if self.digits < 0 { -unit / 2 } else { unit / 2 };
        Self::new((self.digits + half) / unit, self.scale - surplus)
    }

    /// Returns the nearest `f64`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the operands are below 2^53 and 10^22, which `f64` represents exactly"
    )]
    pub(crate) fn to_f64(self) -> f64 {
        const EXACT: u128 = 1 << 53;
        // Both operands are exact in `f64`, so that the division rounds once and correctly.
        if self.digits.unsigned_abs() < EXACT && self.scale <= 22 {
            return self.digits as f64 / power(self.scale).unwrap_or(1) as f64;
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Returns the number if it is an integer.
    pub(crate) fn to_integer(self) -> Option<i128> {
        (self.scale == 0).then_some(self.digits)
    }

    /// Returns the number of fractional digits.
    pub(crate) fn scale(self) -> u32 {
        self.scale
    }

    /// Returns the absolute value.
    pub(crate) fn abs(self) -> Self {
        Self::new(self.digits.saturating_abs(), self.scale)
    }

    /// Returns true if the number is short enough to be shown whole: at most six fractional digits, or fifteen in all.
    pub(crate) fn is_short(self) -> bool {
        self.scale <= 6 || self.digits.unsigned_abs() < 10_u128.pow(MIN_QUOTIENT_DIGITS)
    }

    fn at_scale(self, scale: u32) -> Option<i128> {
        self.digits
            .checked_mul(power(scale.checked_sub(self.scale)?)?)
    }
}

fn power(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        match (self.at_scale(scale), other.at_scale(scale)) {
            (Some(one), Some(other)) => one.cmp(&other),
            // A common scale would overflow, so that the order is approximate but total.
            _ => self
                .to_f64()
                .total_cmp(&other.to_f64())
                .then_with(|| (self.digits, self.scale).cmp(&(other.digits, other.scale))),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let width = self.scale as usize + 1;
        let digits = format!("{:0width$}", self.digits.unsigned_abs());
        match digits.split_at_checked(digits.len() - self.scale as usize) {
            Some((whole, fraction)) if 0 < self.scale => write!(f, "{sign}{whole}.{fraction}"),
            _ => write!(f, "{sign}{digits}"),
        }
    }
}
