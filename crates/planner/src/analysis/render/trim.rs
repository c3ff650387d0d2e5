//! Cuts values to a token budget, with marks at every cut.

use planwright_core::{Object, Value};

use crate::analysis::{clipped, tokens};

/// A value, cut if it was too large.
#[derive(Clone, Debug, PartialEq)]
pub struct TrimmedValue {
    /// The value. A cut list ends with a text such as `… 93 more`, a cut text with `… 1200 more characters`, and a cut object
    /// with a field `…` with the text `12 more`.
    pub value: Value,
    /// True if anything was cut.
    pub is_cut: bool,
}

/// The limits of each part of a value.
#[derive(Clone, Copy)]
struct TrimLimits {
    items: usize,
    fields: usize,
    characters: usize,
    depth: usize,
}

/// The limits in the order in which they are tried; the last ones leave only the kind of the value.
const TRIM_LEVELS: &[TrimLimits] = &[
    limits(200, 200, 4000, 32),
    limits(100, 100, 2000, 32),
    limits(50, 50, 1000, 16),
    limits(30, 50, 500, 16),
    limits(20, 50, 300, 12),
    limits(10, 40, 200, 8),
    limits(5, 30, 150, 8),
    limits(3, 20, 100, 6),
    limits(2, 12, 60, 5),
    limits(1, 8, 40, 4),
    limits(1, 4, 20, 3),
    limits(0, 3, 10, 2),
    limits(0, 0, 0, 0),
];

const fn limits(items: usize, fields: usize, characters: usize, depth: usize) -> TrimLimits {
    TrimLimits {
        items,
        fields,
        characters,
        depth,
    }
}

/// Returns a value of at most `budget` tokens as compact JSON: unchanged if it fits, else with its lists, texts, and objects cut.
/// With almost no budget, a text describes the value.
pub fn trim_value(value: &Value, budget: usize) -> TrimmedValue {
    let fits = |value: &Value| tokens(value.to_json().len()) <= budget;
    // Values that exceed the budget by far are not serialized to be measured: `exceeds` counts 64 for each part, which takes at
    // least two bytes.
    let bytes = budget.saturating_mul(4);
    if !value.exceeds(usize::MAX, bytes.saturating_mul(40)) && fits(value) {
        return TrimmedValue {
            value: value.clone(),
            is_cut: false,
        };
    }
    for limits in TRIM_LEVELS {
        let value = cut(value, *limits);
        if fits(&value) {
            return TrimmedValue {
                value,
                is_cut: true,
            };
        }
    }
    TrimmedValue {
        value: Value::text("…"),
        is_cut: true,
    }
}

fn cut(value: &Value, limits: TrimLimits) -> Value {
    match value {
        Value::Text(text) => cut_text(text, limits.characters),
        Value::List(items) if limits.depth == 0 && !items.is_empty() => {
            Value::text(format!("… list of {}", items.len()))
        }
        Value::Object(fields) if limits.depth == 0 && !fields.is_empty() => {
            Value::text(format!("… object of {}", fields.len()))
        }
        Value::List(items) => cut_list(items, limits),
        Value::Object(fields) => cut_object(fields, limits),
        other => other.clone(),
    }
}

fn cut_text(text: &str, characters: usize) -> Value {
    // The mark would be longer than the rest of the text.
    if text.len() <= characters.saturating_add(24) {
        return Value::text(text);
    }
    let length = text.chars().count();
    if length <= characters.saturating_add(24) {
        return Value::text(text);
    }
    let more = length - characters;
    Value::text(format!(
        "{} {more} more characters",
        clipped(text, characters)
    ))
}

fn cut_list(items: &[Value], limits: TrimLimits) -> Value {
    let inner = TrimLimits {
        depth: limits.depth.saturating_sub(1),
        ..limits
    };
    // A mark takes as much space as a single item.
    let shown = if items.len() <= limits.items.saturating_add(1) && 0 < limits.items {
        items.len()
    } else {
        limits.items.min(items.len())
    };
    let mut list: Vec<Value> = items
        .iter()
        .take(shown)
        .map(|item| cut(item, inner))
        .collect();
    let more = items.len() - shown;
    if 0 < more {
        list.push(Value::text(format!("… {more} more")));
    }
    Value::list(list)
}

fn cut_object(fields: &Object, limits: TrimLimits) -> Value {
    let inner = TrimLimits {
        depth: limits.depth.saturating_sub(1),
        ..limits
    };
    let mut object: Object = fields
        .iter()
        .take(limits.fields)
        .map(|(name, value)| (name.clone(), cut(value, inner)))
        .collect();
    let more = fields.len().saturating_sub(limits.fields);
    if 0 < more {
        object.insert("…".into(), Value::text(format!("{more} more")));
    }
    Value::Object(object.into())
}
