//! The quick yes: values that fit beyond doubt, told from the text of the schema alone. Compiling a
//! validator costs a hundred times as much, and most arguments of most plans are plain.

use crate::{Object, PointerSegment, Value};

use super::{Holes, equality};

/// Up to here, every whole number is exact as a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether `value` fits `document` beyond doubt. `false` says nothing. What stands in its `holes`
/// is not looked at.
pub(super) fn fits(document: &Value, value: &Value, holes: &Holes) -> bool {
    let draft = document.get("$schema").map(Value::as_text);
    let is_familiar = draft.is_none_or(|draft| {
        draft.is_some_and(|draft| draft.contains("2020-12") || draft.contains("draft-07"))
    });
    let holes = (!holes.is_empty()).then_some(holes);
    is_familiar && schema_takes(document, value, holes)
}

fn schema_takes(schema: &Value, value: &Value, holes: Option<&Holes>) -> bool {
    if matches!(holes, Some(Holes::Whole)) {
        return true;
    }
    match schema {
        Value::Bool(anything) => *anything,
        Value::Object(rules) => rules
            .iter()
            .all(|(keyword, rule)| rule_takes(keyword, rule, rules, value, holes)),
        _ => false,
    }
}

fn rule_takes(
    keyword: &str,
    rule: &Value,
    rules: &Object,
    value: &Value,
    holes: Option<&Holes>,
) -> bool {
    match keyword {
        "title" | "description" | "default" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" | "$comment" | "$schema" | "$defs" | "definitions" => true,
        "type" => match rule {
            Value::Text(kind) => is_kind(value, kind),
            Value::List(kinds) => kinds
                .iter()
                .filter_map(Value::as_text)
                .any(|kind| is_kind(value, kind)),
            _ => false,
        },
        "enum" => {
            let options = rule.as_list().unwrap_or_default();
            holes.is_none() && options.iter().any(|option| equality::same(option, value))
        }
        "const" => holes.is_none() && equality::same(rule, value),
        "properties" => properties_take(rule, value, holes),
        "required" => match (value, rule) {
            (Value::Object(fields), Value::List(names)) => names
                .iter()
                .all(|name| name.as_text().is_some_and(|name| fields.contains_key(name))),
            (Value::Object(_), _) => false,
            _ => true,
        },
        "additionalProperties" => additional_take(rule, rules, value, holes),
        "items" => match value {
            Value::List(items) => {
                let is_plain = !rules.contains_key("prefixItems") && rule.as_list().is_none();
                is_plain
                    && items.iter().enumerate().all(|(index, item)| {
                        let below = below(holes, &PointerSegment::Index(index));
                        schema_takes(rule, item, below)
                    })
            }
            _ => true,
        },
        "allOf" => rule
            .as_list()
            .is_some_and(|all| all.iter().all(|one| schema_takes(one, value, holes))),
        "anyOf" => rule
            .as_list()
            .is_some_and(|all| all.iter().any(|one| schema_takes(one, value, holes))),
        "format" | "pattern" => value.as_text().is_none(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => match value {
            Value::Number(_) => is_within(keyword, rule, value),
            _ => true,
        },
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            is_long_enough(keyword, rule, value)
        }
        other => other.starts_with("x-"),
    }
}

fn properties_take(rule: &Value, value: &Value, holes: Option<&Holes>) -> bool {
    let Value::Object(fields) = value else {
        return true;
    };
    rule.as_object().is_some_and(|described| {
        described.iter().all(|(name, schema)| {
            fields.get(name).is_none_or(|field| {
                let below = below(holes, &PointerSegment::Key(name.clone()));
                schema_takes(schema, field, below)
            })
        })
    })
}

fn additional_take(rule: &Value, rules: &Object, value: &Value, holes: Option<&Holes>) -> bool {
    let Value::Object(fields) = value else {
        return true;
    };
    let described = rules.get("properties").and_then(Value::as_object);
    !rules.contains_key("patternProperties")
        && fields.iter().all(|(name, field)| {
            if described.is_some_and(|described| described.contains_key(name)) {
                return true;
            }
            // That there is such a field is known, whatever it holds.
            let below = below(holes, &PointerSegment::Key(name.clone()));
            *rule != Value::Bool(false) && schema_takes(rule, field, below)
        })
}

fn below<'h>(holes: Option<&'h Holes>, part: &PointerSegment) -> Option<&'h Holes> {
    holes?.below(part)
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match (kind, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::Text(_))
        | ("array", Value::List(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

fn is_within(keyword: &str, limit: &Value, value: &Value) -> bool {
    let (Some(limit), Some(value)) = (limit.as_f64(), value.as_f64()) else {
        return false;
    };
    // Beyond, two different numbers may look alike.
    let is_exact = limit.abs() < EXACT && value.abs() < EXACT;
    is_exact
        && match keyword {
            "minimum" => value >= limit,
            "maximum" => value <= limit,
            "exclusiveMinimum" => value > limit,
            _ => value < limit,
        }
}

fn is_long_enough(keyword: &str, limit: &Value, value: &Value) -> bool {
    let length = match (keyword, value) {
        ("minLength" | "maxLength", Value::Text(text)) => text.chars().count(),
        ("minItems" | "maxItems", Value::List(items)) => items.len(),
        ("minProperties" | "maxProperties", Value::Object(fields)) => fields.len(),
        _ => return true,
    };
    let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
    limit.is_some_and(|limit| {
        if keyword.starts_with("min") {
            length >= limit
        } else {
            length <= limit
        }
    })
}
