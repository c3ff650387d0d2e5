//! List functions, and functions that lists share with text and objects.

use std::cmp::Ordering;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::expression::operator::{compare, double, equal, whole};
use crate::{Hashing, Number, Value};

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

/// Returns the first item.
pub(super) fn first(values: &[Value], _: &mut EvaluationBudget) -> Result {
    end("first", values, <[Value]>::first)
}

/// Returns the last item.
pub(super) fn last(values: &[Value], _: &mut EvaluationBudget) -> Result {
    end("last", values, <[Value]>::last)
}

fn end(name: &str, values: &[Value], end: fn(&[Value]) -> Option<&Value>) -> Result {
    let [Value::List(items)] = values else {
        return Err(EvaluationError::unsupported(name, values));
    };
    // The item is a part that does not exist, so that `??` can replace it.
    end(items).cloned().ok_or_else(|| {
        EvaluationError::Missing(format!("`{name}` needs at least one item, found none"))
    })
}

/// Pairs the items at the same positions of several lists.
pub(super) fn zip(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let mut lists = Vec::with_capacity(values.len());
    for value in values {
        let Value::List(items) = value else {
            return Err(EvaluationError::unsupported("zip", values));
        };
        lists.push(items);
    }
    let length = lists.first().map_or(0, |first| first.len());
    if let Some(other) = lists.iter().find(|list| list.len() != length) {
        // Leaving out items would be a silent loss.
        return Err(EvaluationError::failed(format!(
            "`zip` needs lists of the same length, found {length} and {} items",
            other.len()
        )));
    }
    budget.spend(length.saturating_mul(lists.len()))?;
    let tuple = |at: usize| Value::list(lists.iter().filter_map(|list| list.get(at).cloned()));
    Ok(Value::list((0..length).map(tuple)))
}

/// Groups the items by their keys: a list of `{key, items}`, in the order of the first item of each group.
pub(in crate::expression) fn group_by(
    items: Vec<Value>,
    keys: Vec<Value>,
    budget: &mut EvaluationBudget,
) -> Result {
    let mut groups: IndexMap<GroupKey, (Value, Vec<Value>), Hashing> = IndexMap::default();
    for (item, key) in items.into_iter().zip(keys) {
        let of = GroupKey::of(&key, budget)?;
        let group = groups.entry(of).or_insert_with(|| (key, Vec::new()));
        group.1.push(item);
    }
    let groups = groups.into_values().map(|(key, items)| {
        budget.spend(items.len())?;
        Ok(Value::object([("key", key), ("items", items.into())]))
    });
    let groups: std::result::Result<Vec<Value>, EvaluationError> = groups.collect();
    Ok(groups?.into())
}

/// A key of a group. Keys that are equal as values are equal.
#[derive(PartialEq, Eq, Hash)]
enum GroupKey {
    Null,
    Bool(bool),
    Text(Arc<str>),
    Whole(i128),
    /// The bits of a double that is not a whole number within 128 bits.
    Double(u64),
    List(Vec<GroupKey>),
}

impl GroupKey {
    fn of(
        key: &Value,
        budget: &mut EvaluationBudget,
    ) -> std::result::Result<Self, EvaluationError> {
        budget.spend_text(key.as_text().map_or(0, str::len))?;
        Ok(match key {
            Value::Null => Self::Null,
            Value::Bool(key) => Self::Bool(*key),
            Value::Text(key) => Self::Text(Arc::clone(key)),
            Value::Number(key) => Self::of_number(key),
            Value::List(keys) => {
                let keys = keys.iter().map(|key| Self::of(key, budget));
                Self::List(keys.collect::<std::result::Result<_, _>>()?)
            }
            Value::Object(_) => {
                return Err(EvaluationError::failed(
                    "an object cannot be the key of a group",
                ));
            }
        })
    }

    fn of_number(number: &Number) -> Self {
        if let Some(whole) = whole(number) {
            return Self::Whole(whole);
        }
        let double = double(number);
        if double.fract() == 0.0 && double.abs() < 1e30 {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the double is whole and within 128 bits"
            )]
            return Self::Whole(double as i128);
        }
        Self::Double(double.to_bits())
    }
}

/// Returns the items of a list, or the characters of a text, from one position up to, but not including, another.
pub(super) fn slice(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    if let [Value::Text(_), ..] = values {
        return super::text::substring(values, budget);
    }
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
        [Value::List(items)] => match items.iter().find(|item| matches!(item, Value::List(_))) {
            // Only keys of `sortBy` may be lists: one for each criterion.
            Some(list) => Err(EvaluationError::unsupported(
                "sort",
                std::slice::from_ref(list),
            )),
            None => sort_by("sort", items.to_vec(), items.to_vec(), budget),
        },
        _ => Err(EvaluationError::unsupported("sort", values)),
    }
}

/// Sorts the items by their keys for the function `name`; the sort is stable. A key that is a list has several criteria: the first
/// one that differs decides.
pub(in crate::expression) fn sort_by(
    name: &str,
    items: Vec<Value>,
    keys: Vec<Value>,
    budget: &mut EvaluationBudget,
) -> Result {
    let first = keys.first().cloned().unwrap_or_default();
    // A sort needs a total order, so keys of different kinds are refused first.
    for key in &keys {
        if !is_comparable(&first, key) {
            return Err(EvaluationError::unsupported(name, &[first, key.clone()]));
        }
    }
    let work: usize = keys.iter().map(key_cost).fold(0, usize::saturating_add);
    // A sort compares each key about log2(n) times.
    let rounds = usize::BITS - keys.len().leading_zeros();
    budget.spend(work.saturating_mul(rounds as usize))?;
    let mut pairs: Vec<(Value, Value)> = keys.into_iter().zip(items).collect();
    // All keys were compared with the first one above, so they are comparable.
    pairs.sort_by(|(a, _), (b, _)| compare_keys(a, b));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item)))
}

/// Returns true if two keys have an order: values of the same kind, or lists with as many of them.
fn is_comparable(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            let mut pairs = a.iter().zip(b.iter());
            a.len() == b.len() && pairs.all(|(a, b)| compare(a, b).is_some())
        }
        _ => compare(a, b).is_some(),
    }
}

fn compare_keys(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            let pairs = a.iter().zip(b.iter()).map(|(a, b)| compare_keys(a, b));
            pairs.fold(Ordering::Equal, Ordering::then)
        }
        _ => compare(a, b).unwrap_or(Ordering::Equal),
    }
}

fn key_cost(key: &Value) -> usize {
    match key {
        Value::List(keys) => keys.iter().map(key_cost).fold(1, usize::saturating_add),
        key => 1 + key.as_text().map_or(0, str::len) / 8,
    }
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
