//! A fast acceptance test that uses the schema's text only. Compiling a validator costs a hundred times as much, and
//! most arguments of most plans are simple.

use crate::{Object, PointerSegment, Value};

use super::{Placeholders, equality};

/// The largest integer up to which doubles are exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns true if `value` certainly fits `document`, whatever replaces its `placeholders`; false means unknown.
pub(super) fn accepts(document: &Value, value: &Value, placeholders: &Placeholders) -> bool {
    let draft = document.get("$schema").map(Value::as_text);
    // Other drafts give some keywords another meaning.
    let is_familiar = draft.is_none_or(|draft| {
        draft.is_some_and(|draft| draft.contains("2020-12") || draft.contains("draft-07"))
    });
    let placeholders = (!placeholders.is_empty()).then_some(placeholders);
    is_familiar && schema_accepts(document, value, placeholders)
}

fn schema_accepts(schema: &Value, value: &Value, placeholders: Option<&Placeholders>) -> bool {
    if matches!(placeholders, Some(Placeholders::Whole)) {
        return true;
    }
    match schema {
        Value::Bool(anything) => *anything,
        Value::Object(rules) => rules
            .iter()
            .all(|(keyword, rule)| keyword_accepts(keyword, rule, rules, value, placeholders)),
        _ => false,
    }
}

fn keyword_accepts(
    keyword: &str,
    rule: &Value,
    rules: &Object,
    value: &Value,
    placeholders: Option<&Placeholders>,
) -> bool {
    match keyword {
        // Annotations restrict nothing.
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
            placeholders.is_none() && options.iter().any(|option| equality::same(option, value))
        }
        "const" => placeholders.is_none() && equality::same(rule, value),
        "properties" => properties_accept(rule, value, placeholders),
        "required" => match (value, rule) {
            (Value::Object(fields), Value::List(names)) => names
                .iter()
                .all(|name| name.as_text().is_some_and(|name| fields.contains_key(name))),
            (Value::Object(_), _) => false,
            _ => true,
        },
        "additionalProperties" => additional_accepts(rule, rules, value, placeholders),
        "items" => match value {
            Value::List(items) => {
                let is_plain = !rules.contains_key("prefixItems") && rule.as_list().is_none();
                is_plain
                    && items.iter().enumerate().all(|(index, item)| {
                        let child = child(placeholders, &PointerSegment::Index(index));
                        schema_accepts(rule, item, child)
                    })
            }
            _ => true,
        },
        "allOf" => rule.as_list().is_some_and(|all| {
            all.iter()
                .all(|one| schema_accepts(one, value, placeholders))
        }),
        "anyOf" => rule.as_list().is_some_and(|all| {
            all.iter()
                .any(|one| schema_accepts(one, value, placeholders))
        }),
        // Formats and patterns need the validator; they apply to text only.
        "format" | "pattern" => value.as_text().is_none(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => match value {
            Value::Number(_) => is_within(keyword, rule, value),
            _ => true,
        },
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            is_long_enough(keyword, rule, value)
        }
        // An unknown keyword may restrict the value, except an extension.
        other => other.starts_with("x-"),
    }
}

fn properties_accept(rule: &Value, value: &Value, placeholders: Option<&Placeholders>) -> bool {
    let Value::Object(fields) = value else {
        return true;
    };
    rule.as_object().is_some_and(|described| {
        described.iter().all(|(name, schema)| {
            fields.get(name).is_none_or(|field| {
                let child = child(placeholders, &PointerSegment::Key(name.clone()));
                schema_accepts(schema, field, child)
            })
        })
    })
}

fn additional_accepts(
    rule: &Value,
    rules: &Object,
    value: &Value,
    placeholders: Option<&Placeholders>,
) -> bool {
    let Value::Object(fields) = value else {
        return true;
    };
    let described = rules.get("properties").and_then(Value::as_object);
    !rules.contains_key("patternProperties")
        && fields.iter().all(|(name, field)| {
            if described.is_some_and(|described| described.contains_key(name)) {
                return true;
            }
            // The field exists, whatever its value will be.
            let child = child(placeholders, &PointerSegment::Key(name.clone()));
            *rule != Value::Bool(false) && schema_accepts(rule, field, child)
        })
}

fn child<'h>(
    placeholders: Option<&'h Placeholders>,
    part: &PointerSegment,
) -> Option<&'h Placeholders> {
    placeholders?.child(part)
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
    // Beyond this limit, different numbers may have the same double.
    let is_exact = limit.abs() < MAX_EXACT && value.abs() < MAX_EXACT;
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
