//! Number functions: conversions between types, and the CEL `math` extension.

use std::cmp::Ordering;

use super::aggregate;
use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::expression::operator::{double_value, negate, out_of_range, whole, whole_value};

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
    if let Some(other) = numbers
        .iter()
        .find(|item| !matches!(item, Value::Number(_)))
    {
        return Err(EvaluationError::unsupported(
            name,
            std::slice::from_ref(other),
        ));
    }
    if numbers.is_empty() {
        let message = format!("`{name}` needs at least one number, found none");
        return Err(EvaluationError::Failed(message));
    }
    aggregate::extreme(name, numbers, wanted, budget)
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

/// Converts to text: text as it is, any other value as compact JSON.
pub(super) fn string(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [Value::Text(text)] => Ok(Value::Text(text.clone())),
        [value] => {
            let text = value.to_json();
            budget.spend_text(text.len())?;
            Ok(text.into())
        }
        _ => Err(EvaluationError::unsupported("string", values)),
    }
}

/// Converts to an integer; a double is truncated towards zero.
pub(super) fn int(values: &[Value], _: &mut EvaluationBudget) -> Result {
    to_whole("int", values)
}

/// Converts to a non-negative integer.
pub(super) fn uint(values: &[Value], _: &mut EvaluationBudget) -> Result {
    let value = to_whole("uint", values)?;
    // `-0.5` is truncated to `0`, which has lost the sign.
    let is_negative = matches!(values, [number] if number.as_f64().is_some_and(|it| it < 0.0));
    if is_negative || value.as_u64().is_none() {
        return Err(EvaluationError::failed(format!("`{value}` is negative")));
    }
    Ok(value)
}

fn to_whole(name: &str, values: &[Value]) -> Result {
    match values {
        [Value::Number(number)] => match whole(number) {
            Some(whole) => whole_value(whole).ok_or_else(out_of_range),
            None => truncate(number.as_f64().unwrap_or(f64::NAN)).ok_or_else(out_of_range),
        },
        [Value::Text(text)] => text.parse().ok().and_then(whole_value).ok_or_else(|| {
            EvaluationError::failed(format!(
                "the text `{}` is not a whole number",
                excerpt(text)
            ))
        }),
        _ => Err(EvaluationError::unsupported(name, values)),
    }
}

/// Returns the integer part of a double, if 64 bits can represent it.
pub(super) fn truncate(number: f64) -> Option<Value> {
    if number.is_nan() || number.abs() > 1e20 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the double is within 128 bits, and truncation is intended"
    )]
    let whole = number as i128;
    whole_value(whole)
}

/// Converts to a double.
pub(super) fn double(values: &[Value], _: &mut EvaluationBudget) -> Result {
    match values {
        [Value::Number(number)] => double_value(number.as_f64().unwrap_or(f64::NAN)),
        [Value::Text(text)] => match text.parse() {
            Ok(number) => double_value(number),
            Err(_) => Err(EvaluationError::failed(format!(
                "the text `{}` is not a number",
                excerpt(text)
            ))),
        },
        _ => Err(EvaluationError::unsupported("double", values)),
    }
}

/// Converts to a boolean.
pub(super) fn bool(values: &[Value], _: &mut EvaluationBudget) -> Result {
    match values {
        [Value::Bool(value)] => Ok((*value).into()),
        [Value::Text(text)] => match text.as_ref() {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(true.into()),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(false.into()),
            other => Err(EvaluationError::failed(format!(
                "the text `{}` is neither true nor false",
                excerpt(other)
            ))),
        },
        _ => Err(EvaluationError::unsupported("bool", values)),
    }
}

/// Returns the value unchanged.
pub(super) fn identity(values: &[Value], _: &mut EvaluationBudget) -> Result {
    match values {
        [value] => Ok(value.clone()),
        _ => Err(EvaluationError::unsupported("dyn", values)),
    }
}

/// Returns the beginning of a text, for messages.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(40) {
        // The redactor recognises a truncated secret by this mark.
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
