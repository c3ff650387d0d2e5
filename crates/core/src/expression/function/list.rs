//! List functions, and functions that lists share with text and objects.

use std::cmp::Ordering;

use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::expression::operator::{compare, equal};

type Result = std::result::Result<Value, EvaluationError>;

/// Maximum number of items that `lists.range` creates.
const MAX_RANGE: i64 = 100_000;

/// Returns the number of characters, items or fields.
pub(super) fn size(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let size = match values {
        [Value::Text(text)] => {
            budget.spend_text(text.len())?;
            text.chars().count()
        }
        [Value::List(items)] => items.len(),
        [Value::Object(fields)] => fields.len(),
        _ => return Err(EvaluationError::unsupported("size", values)),
    };
    Ok((size as u64).into())
}

/// Reverses a list or a text.
pub(super) fn reverse(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [Value::List(items)] => {
            budget.spend(items.len())?;
            Ok(Value::list(items.iter().rev().cloned()))
        }
        [Value::Text(text)] => {
            budget.spend_text(text.len())?;
            Ok(text.chars().rev().collect::<String>().into())
        }
        _ => Err(EvaluationError::unsupported("reverse", values)),
    }
}

/// Returns the items from one position up to, but not including, another.
pub(super) fn slice(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::List(items), Value::Number(from), Value::Number(to)] = values else {
        return Err(EvaluationError::unsupported("slice", values));
    };
    let position = |number: &crate::Number| {
        number
            .as_u64()
            .and_then(|position| usize::try_from(position).ok())
    };
    let part = position(from)
        .zip(position(to))
        .and_then(|(from, to)| items.get(from..to))
        .ok_or_else(|| {
            let count = items.len();
            EvaluationError::failed(format!(
                "there are no items from {from} to {to} in a list of {count}"
            ))
        })?;
    budget.spend(part.len())?;
    Ok(Value::list(part.iter().cloned()))
}

/// Flattens nested lists, one level deep or as many as requested.
pub(super) fn flatten(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (items, depth) = match values {
        [Value::List(items)] => (items, 1),
        [Value::List(items), Value::Number(depth)] => match depth.as_u64() {
            Some(depth) => (items, depth),
            None => {
                return Err(EvaluationError::failed(
                    "`flatten` needs a depth that is not negative",
                ));
            }
        },
        _ => return Err(EvaluationError::unsupported("flatten", values)),
    };
    let mut flat = items.to_vec();
    for _ in 0..depth {
        budget.spend(flat.len())?;
        // Without this test, a huge depth would loop without effect.
        if !flat.iter().any(|item| matches!(item, Value::List(_))) {
            break;
        }
        let mut next = Vec::with_capacity(flat.len());
        for item in flat {
            match item {
                Value::List(items) => {
                    budget.spend(items.len())?;
                    next.extend(items.iter().cloned());
                }
                other => next.push(other),
            }
        }
        flat = next;
    }
    Ok(flat.into())
}

/// Returns the distinct items, in the order of their first occurrence.
pub(super) fn distinct(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::List(items)] = values else {
        return Err(EvaluationError::unsupported("distinct", values));
    };
    let mut unique: Vec<Value> = Vec::new();
    'items: for item in items.iter() {
        for earlier in &unique {
            if equal(earlier, item, budget)? {
                continue 'items;
            }
        }
        unique.push(item.clone());
    }
    Ok(unique.into())
}

/// Sorts the items.
pub(super) fn sort(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [Value::List(items)] => sort_by(items.to_vec(), items.to_vec(), budget),
        _ => Err(EvaluationError::unsupported("sort", values)),
    }
}

/// Sorts the items by their keys; the sort is stable.
pub(in crate::expression) fn sort_by(
    items: Vec<Value>,
    keys: Vec<Value>,
    budget: &mut EvaluationBudget,
) -> Result {
    let first = keys.first().cloned().unwrap_or_default();
    // A sort needs a total order, so keys of different kinds are refused first.
    for key in &keys {
        if compare(&first, key).is_none() {
            return Err(EvaluationError::unsupported("sort", &[first, key.clone()]));
        }
    }
    let work: usize = keys
        .iter()
        .map(|key| 1 + key.as_text().map_or(0, str::len) / 8)
        .fold(0, usize::saturating_add);
    // A sort compares each key about log2(n) times.
    let rounds = usize::BITS - keys.len().leading_zeros();
    budget.spend(work.saturating_mul(rounds as usize))?;
    let mut pairs: Vec<(Value, Value)> = keys.into_iter().zip(items).collect();
    // All keys were compared with the first one above, so they are comparable.
    pairs.sort_by(|(a, _), (b, _)| compare(a, b).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item)))
}

/// Returns the integers from 0 up to, but not including, the argument.
pub(super) fn range(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let count = match values {
        [Value::Number(count)] => count.as_i64(),
        _ => return Err(EvaluationError::unsupported("lists.range", values)),
    };
    let count = count
        .filter(|count| (0..=MAX_RANGE).contains(count))
        .ok_or_else(|| {
            EvaluationError::failed(format!("`lists.range` goes from 0 to {MAX_RANGE} at most"))
        })?;
    budget.spend(usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok(Value::list((0..count).map(Value::from)))
}
