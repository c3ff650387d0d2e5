//! Binary operators and their evaluation.

use std::cmp::Ordering;

use super::EvaluationError;
use super::evaluate::EvaluationBudget;
use crate::path::with_article;
use crate::{Number, Value};

/// A binary operator, except `&&` and `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl BinaryOperator {
    /// Returns the precedence: 0 for comparisons, 1 for sums, 2 for products.
    pub(super) fn level(self) -> usize {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide | Self::Remainder => 2,
            _ => 0,
        }
    }

    /// Returns true if the operator fails for some right operands.
    pub(crate) fn divides(self) -> bool {
        matches!(self, Self::Divide | Self::Remainder)
    }

    /// Returns the operator as it is written.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    pub(super) fn apply(
        self,
        left: &Value,
        right: &Value,
        budget: &mut EvaluationBudget,
    ) -> Result<Value, EvaluationError> {
        let value = match self {
            Self::Equal => equal(left, right, budget)?.into(),
            Self::Unequal => (!equal(left, right, budget)?).into(),
            Self::Less => (self.order(left, right, budget)? == Ordering::Less).into(),
            Self::LessOrEqual => (self.order(left, right, budget)? != Ordering::Greater).into(),
            Self::Greater => (self.order(left, right, budget)? == Ordering::Greater).into(),
            Self::GreaterOrEqual => (self.order(left, right, budget)? != Ordering::Less).into(),
            Self::In => contains(right, left, budget)?.into(),
            Self::Add => add(left, right, budget)?,
            Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => {
                match (left, right) {
                    (Value::Number(left), Value::Number(right)) => self.calculate(left, right)?,
                    _ => return Err(self.unsupported(left, right)),
                }
            }
        };
        Ok(value)
    }

    fn order(
        self,
        left: &Value,
        right: &Value,
        budget: &mut EvaluationBudget,
    ) -> Result<Ordering, EvaluationError> {
        if let (Value::Text(left), Value::Text(right)) = (left, right) {
            budget.spend_text(left.len().min(right.len()))?;
        }
        compare(left, right).ok_or_else(|| self.unsupported(left, right))
    }

    fn calculate(self, left: &Number, right: &Number) -> Result<Value, EvaluationError> {
        // 128 bits hold every result of two 64-bit integers, so only the conversion back can fail.
        if let (Some(left), Some(right)) = (whole(left), whole(right)) {
            let result = match self {
                Self::Add => left.checked_add(right),
                Self::Subtract => left.checked_sub(right),
                Self::Multiply => left.checked_mul(right),
                Self::Divide | Self::Remainder if right == 0 => {
                    return Err(EvaluationError::Failed(format!(
                        "{left} cannot be divided by zero"
                    )));
                }
                Self::Divide => left.checked_div(right),
                _ => left.checked_rem(right),
            };
            return result.and_then(whole_value).ok_or_else(out_of_range);
        }
        let (left, right) = (double(left), double(right));
        double_value(match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            _ => left % right,
        })
    }

    fn unsupported(self, left: &Value, right: &Value) -> EvaluationError {
        EvaluationError::Failed(format!(
            "`{}` cannot combine {} and {}",
            self.sign(),
            with_article(left),
            with_article(right)
        ))
    }
}

/// Compares two values: numbers by value, objects regardless of field order.
pub(super) fn equal(
    left: &Value,
    right: &Value,
    budget: &mut EvaluationBudget,
) -> Result<bool, EvaluationError> {
    // Shared parts may make a small value very large to compare.
    budget.spend(1)?;
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            Ok(order_numbers(left, right) == Ordering::Equal)
        }
        (Value::Text(left), Value::Text(right)) => {
            budget.spend_text(left.len().min(right.len()))?;
            Ok(left == right)
        }
        (Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right.iter()) {
                if !equal(left, right, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(left), Value::Object(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (key, left) in left.iter() {
                match right.get(key) {
                    Some(right) if equal(left, right, budget)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(left == right),
    }
}

/// Orders two numbers, texts or booleans. Returns `None` for other values.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Some(order_numbers(left, right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Negates a number.
pub(super) fn negate(value: &Value) -> Result<Value, EvaluationError> {
    let Value::Number(number) = value else {
        return Err(EvaluationError::Failed(format!(
            "`-` cannot be applied to {}",
            with_article(value)
        )));
    };
    match whole(number) {
        Some(whole) => whole_value(-whole).ok_or_else(out_of_range),
        None => double_value(-double(number)),
    }
}

/// Returns the number as an integer, if it was written as one.
pub(super) fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

pub(super) fn double(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Returns the index for a number in brackets, if it is an integer.
pub(super) fn whole_index(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let double = number.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the double is whole and small"
        )]
        let whole = double as i64;
        (double.fract() == 0.0 && double.abs() < 1e15).then_some(whole)
    })
}

/// Returns an integer as a value, if 64 bits can represent it.
pub(super) fn whole_value(number: i128) -> Option<Value> {
    i64::try_from(number)
        .map(Value::from)
        .or_else(|_| u64::try_from(number).map(Value::from))
        .ok()
}

pub(super) fn double_value(number: f64) -> Result<Value, EvaluationError> {
    Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(out_of_range)
}

pub(super) fn out_of_range() -> EvaluationError {
    EvaluationError::Failed("the result is not a number that JSON can hold".into())
}

fn order_numbers(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => order_mixed(left, double(right)),
        (None, Some(right)) => order_mixed(right, double(left)).reverse(),
        (None, None) => double(left)
            .partial_cmp(&double(right))
            .unwrap_or(Ordering::Equal),
    }
}

/// Compares without rounding. A double cannot represent every integer, but its integer part either fits into 128 bits
/// or exceeds every 64-bit integer.
fn order_mixed(whole: i128, double: f64) -> Ordering {
    let below = double.floor();
    if below >= 1e30 {
        return Ordering::Less;
    }
    if below <= -1e30 {
        return Ordering::Greater;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the double is whole and within 128 bits"
    )]
    let floor = below as i128;
    whole.cmp(&floor).then(if double > below {
        Ordering::Less
    } else {
        Ordering::Equal
    })
}

fn add(
    left: &Value,
    right: &Value,
    budget: &mut EvaluationBudget,
) -> Result<Value, EvaluationError> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => BinaryOperator::Add.calculate(left, right),
        (Value::Text(left), Value::Text(right)) => {
            budget.spend_text(left.len() + right.len())?;
            Ok(format!("{left}{right}").into())
        }
        (Value::List(left), Value::List(right)) => {
            budget.spend(left.len() + right.len())?;
            Ok(Value::list(left.iter().chain(right.iter()).cloned()))
        }
        _ => Err(BinaryOperator::Add.unsupported(left, right)),
    }
}

fn contains(
    all: &Value,
    wanted: &Value,
    budget: &mut EvaluationBudget,
) -> Result<bool, EvaluationError> {
    match all {
        Value::List(items) => {
            for item in items.iter() {
                if equal(item, wanted, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Object(fields) => match wanted {
            Value::Text(key) => Ok(fields.contains_key(key)),
            // CEL maps may have such keys, JSON objects never do.
            Value::Number(_) | Value::Bool(_) => Ok(false),
            _ => Err(BinaryOperator::In.unsupported(wanted, all)),
        },
        // CEL has no such operator, but those who write plans know it from other languages.
        Value::Text(text) => match wanted {
            Value::Text(part) => {
                budget.spend_text(text.len())?;
                Ok(text.contains(&**part))
            }
            _ => Err(BinaryOperator::In.unsupported(wanted, all)),
        },
        _ => Err(BinaryOperator::In.unsupported(wanted, all)),
    }
}
