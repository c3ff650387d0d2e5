//! The CEL `math` extension.

use std::cmp::Ordering;

use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::limits::EvaluationBudget;
use crate::expression::operator::{compare, double_value, negate, whole};

type Result = std::result::Result<Value, EvaluationError>;

/// Returns the greatest of several numbers, or of the numbers in a list.
pub(super) fn greatest(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    extreme("math.greatest", values, Ordering::Greater, budget)
}

/// Returns the least of several numbers, or of the numbers in a list.
pub(super) fn least(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    extreme("math.least", values, Ordering::Less, budget)
}

fn extreme(
    name: &str,
    values: &[Value],
    wanted: Ordering,
    budget: &mut EvaluationBudget,
) -> Result {
    let numbers = match values {
        [Value::List(items)] => items.as_slice(),
        values => values,
    };
    budget.spend(numbers.len())?;
    let mut best: Option<&Value> = None;
    for number in numbers {
        if !matches!(number, Value::Number(_)) {
            return Err(EvaluationError::unsupported(
                name,
                std::slice::from_ref(number),
            ));
        }
        match best {
            Some(best) if compare(number, best) != Some(wanted) => {}
            _ => best = Some(number),
        }
    }
    best.cloned().ok_or_else(|| {
        EvaluationError::Failed(format!("`{name}` needs at least one number, found none"))
    })
}

/// Returns the absolute value.
pub(super) fn abs(values: &[Value], _: &mut EvaluationBudget) -> Result {
    match values {
        [value @ Value::Number(number)] => {
            if number.as_f64().is_some_and(f64::is_sign_negative) {
                negate(value)
            } else {
                Ok(value.clone())
            }
        }
        _ => Err(EvaluationError::unsupported("math.abs", values)),
    }
}

/// Rounds up to an integer.
pub(super) fn ceil(values: &[Value], _: &mut EvaluationBudget) -> Result {
    rounded("math.ceil", values, f64::ceil)
}

/// Rounds down to an integer.
pub(super) fn floor(values: &[Value], _: &mut EvaluationBudget) -> Result {
    rounded("math.floor", values, f64::floor)
}

/// Rounds to the nearest integer, halves away from zero.
pub(super) fn round(values: &[Value], _: &mut EvaluationBudget) -> Result {
    rounded("math.round", values, f64::round)
}

/// Truncates towards zero.
pub(super) fn trunc(values: &[Value], _: &mut EvaluationBudget) -> Result {
    rounded("math.trunc", values, f64::trunc)
}

fn rounded(name: &str, values: &[Value], round: fn(f64) -> f64) -> Result {
    match values {
        [value @ Value::Number(number)] => match whole(number) {
            // Integers stay integers, without a detour through doubles.
            Some(_) => Ok(value.clone()),
            None => double_value(round(number.as_f64().unwrap_or(f64::NAN))),
        },
        _ => Err(EvaluationError::unsupported(name, values)),
    }
}
