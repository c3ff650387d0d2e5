//! Functions on lists, and what lists have in common with text and objects.

use std::cmp::Ordering;

use super::table::{failed, unsupported};
use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::limits::EvaluationBudget;
use crate::expression::operator::{compare, equal};

type Result = std::result::Result<Value, EvaluationError>;

/// The most items that `lists.range` makes at once.
const MAX_RANGE: i64 = 100_000;

/// How many characters a text, items a list, fields an object has.
pub(super) fn size(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let size = match values {
        [Value::Text(text)] => {
            budget.spend_text(text.len())?;
            text.chars().count()
        }
        [Value::List(items)] => items.len(),
        [Value::Object(fields)] => fields.len(),
        _ => return Err(unsupported("size", values)),
    };
    Ok((size as u64).into())
}

/// The list, or the text, from its end.
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
        _ => Err(unsupported("reverse", values)),
    }
}

/// The items from one position up to, and without, another.
pub(super) fn slice(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::List(items), Value::Number(from), Value::Number(to)] = values else {
        return Err(unsupported("slice", values));
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
            failed(format!(
                "there are no items from {from} to {to} in a list of {count}"
            ))
        })?;
    budget.spend(part.len())?;
    Ok(Value::list(part.iter().cloned()))
}

/// The items of the lists in a list, one level deep or as many as are asked for.
pub(super) fn flatten(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (items, depth) = match values {
        [Value::List(items)] => (items, 1),
        [Value::List(items), Value::Number(depth)] => match depth.as_u64() {
            Some(depth) => (items, depth),
            None => return Err(failed("`flatten` needs a depth that is not negative")),
        },
        _ => return Err(unsupported("flatten", values)),
    };
    let mut flat = items.to_vec();
    for _ in 0..depth {
        budget.spend(flat.len())?;
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

/// The items without repetitions, each where it first stands.
pub(super) fn distinct(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [Value::List(items)] = values else {
        return Err(unsupported("distinct", values));
    };
    let mut kept: Vec<Value> = Vec::new();
    'items: for item in items.iter() {
        for earlier in &kept {
            if equal(earlier, item, budget)? {
                continue 'items;
            }
        }
        kept.push(item.clone());
    }
    Ok(kept.into())
}

/// The items in order.
pub(super) fn sort(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [Value::List(items)] => sort_by(items.to_vec(), items.to_vec(), budget),
        _ => Err(unsupported("sort", values)),
    }
}

/// The items in the order of their keys. Those with the same key stay in their order.
pub(in crate::expression) fn sort_by(
    items: Vec<Value>,
    keys: Vec<Value>,
    budget: &mut EvaluationBudget,
) -> Result {
    let first = keys.first().cloned().unwrap_or_default();
    for key in &keys {
        if compare(&first, key).is_none() {
            return Err(unsupported("sort", &[first, key.clone()]));
        }
    }
    let work: usize = keys
        .iter()
        .map(|key| 1 + key.as_text().map_or(0, str::len) / 8)
        .fold(0, usize::saturating_add);
    let rounds = usize::BITS - keys.len().leading_zeros();
    budget.spend(work.saturating_mul(rounds as usize))?;
    let mut pairs: Vec<(Value, Value)> = keys.into_iter().zip(items).collect();
    // Keys of one kind always compare, as was just made sure of.
    pairs.sort_by(|(a, _), (b, _)| compare(a, b).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item)))
}

/// The whole numbers from 0 up to, and without, the one given.
pub(super) fn range(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let count = match values {
        [Value::Number(count)] => count.as_i64(),
        _ => return Err(unsupported("lists.range", values)),
    };
    let count = count
        .filter(|count| (0..=MAX_RANGE).contains(count))
        .ok_or_else(|| failed(format!("`lists.range` goes from 0 to {MAX_RANGE} at most")))?;
    budget.spend(usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok(Value::list((0..count).map(Value::from)))
}
