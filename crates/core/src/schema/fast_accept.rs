//! A fast acceptance test that uses the schema's text only. Compiling a validator costs a hundred times as much, and
//! most arguments of most plans are simple.

use std::collections::HashSet;

use crate::plan::{Node, NodeKind};
use crate::{Hashing, Object, Value};

use super::equality;

/// The largest integer up to which doubles are exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A value that is tested.
#[derive(Clone, Copy)]
pub(super) enum TestedValue<'a> {
    /// A constant.
    Value(&'a Value),
    /// An argument with references. Their values are unknown and may be of any type.
    Node(&'a Node),
}

/// The form of a given value.
enum Shape<'a> {
    Constant(&'a Value),
    /// A reference, or a text with references.
    Unknown,
    List(&'a [Node]),
    Object(ObjectNode<'a>),
}

/// An object with references inside.
#[derive(Clone, Copy)]
struct ObjectNode<'a>(&'a [crate::plan::Field]);

impl<'a> ObjectNode<'a> {
    /// Returns the field `name`. Of several fields with the same name, the last one counts.
    fn get(self, name: &str) -> Option<&'a Node> {
        let mut fields = self.0.iter().rev();
        let found = fields.find(|field| *field.key == *name);
        found.map(|field| &field.value)
    }

    fn len(self) -> usize {
        let names: HashSet<&str, Hashing> = self.0.iter().map(|field| &*field.key).collect();
        names.len()
    }
}

impl<'a> TestedValue<'a> {
    fn shape(self) -> Shape<'a> {
        match self {
            Self::Value(value) => Shape::Constant(value),
            Self::Node(node) => match &node.kind {
                NodeKind::Literal(value) => Shape::Constant(value),
                NodeKind::Reference(_) | NodeKind::Text(_) => Shape::Unknown,
                NodeKind::List(items) => Shape::List(items),
                NodeKind::Object(fields) => Shape::Object(ObjectNode(fields)),
            },
        }
    }
}

/// Returns true if `tested` certainly fits `document`, whatever the values of its references; false means unknown.
pub(super) fn accepts(document: &Value, tested: TestedValue<'_>) -> bool {
    let draft = document.get("$schema").map(Value::as_text);
    // Other drafts give some keywords another meaning.
    let is_familiar = draft.is_none_or(|draft| {
        draft.is_some_and(|draft| draft.contains("2020-12") || draft.contains("draft-07"))
    });
    is_familiar && schema_accepts(document, tested)
}

fn schema_accepts(schema: &Value, tested: TestedValue<'_>) -> bool {
    match tested.shape() {
        Shape::Unknown => true,
        shape @ (Shape::Constant(_) | Shape::List(_) | Shape::Object(_)) => {
            shape_accepts(schema, &shape)
        }
    }
}

fn keyword_accepts(keyword: &str, rule: &Value, rules: &Object, shape: &Shape<'_>) -> bool {
    match keyword {
        // Annotations restrict nothing.
        "title" | "description" | "default" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" | "$comment" | "$schema" | "$defs" | "definitions" => true,
        "type" => match rule {
            Value::Text(kind) => is_kind(shape, kind),
            Value::List(kinds) => kinds
                .iter()
                .filter_map(Value::as_text)
                .any(|kind| is_kind(shape, kind)),
            _ => false,
        },
        "enum" => {
            let options = rule.as_list().unwrap_or_default();
            options.iter().any(|option| is_same(option, shape))
        }
        "const" => is_same(rule, shape),
        "properties" => properties_accept(rule, shape),
        "required" => {
            let has = |name: &str| match shape {
                Shape::Constant(Value::Object(fields)) => fields.contains_key(name),
                Shape::Object(object) => object.get(name).is_some(),
                Shape::Constant(_) | Shape::Unknown | Shape::List(_) => true,
            };
            match rule {
                Value::List(names) => names.iter().all(|name| name.as_text().is_some_and(has)),
                _ => !is_kind(shape, "object"),
            }
        }
        "additionalProperties" => additional_accepts(rule, rules, shape),
        "items" => {
            let is_plain = || !rules.contains_key("prefixItems") && rule.as_list().is_none();
            let accepts = |item: TestedValue<'_>| schema_accepts(rule, item);
            match shape {
                Shape::Constant(Value::List(items)) => {
                    is_plain() && items.iter().map(TestedValue::Value).all(accepts)
                }
                Shape::List(items) => {
                    is_plain() && items.iter().map(TestedValue::Node).all(accepts)
                }
                Shape::Constant(_) | Shape::Unknown | Shape::Object(_) => true,
            }
        }
        "allOf" => rule
            .as_list()
            .is_some_and(|all| all.iter().all(|one| shape_accepts(one, shape))),
        "anyOf" => rule
            .as_list()
            .is_some_and(|all| all.iter().any(|one| shape_accepts(one, shape))),
        // Formats and patterns need the validator; they apply to text only.
        "format" | "pattern" => !matches!(shape, Shape::Constant(Value::Text(_))),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => match shape {
            Shape::Constant(value @ Value::Number(_)) => is_within(keyword, rule, value),
            Shape::Constant(_) | Shape::Unknown | Shape::List(_) | Shape::Object(_) => true,
        },
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            is_long_enough(keyword, rule, shape)
        }
        // An unknown keyword may restrict the value, except an extension.
        other => other.starts_with("x-"),
    }
}

fn shape_accepts(schema: &Value, shape: &Shape<'_>) -> bool {
    match schema {
        Value::Bool(anything) => *anything,
        Value::Object(rules) => rules
            .iter()
            .all(|(keyword, rule)| keyword_accepts(keyword, rule, rules, shape)),
        _ => false,
    }
}

/// Returns true if the value is certainly `expected`.
fn is_same(expected: &Value, shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Constant(value) if equality::same(expected, value))
}

fn properties_accept(rule: &Value, shape: &Shape<'_>) -> bool {
    let field_accepts = |name: &str, schema: &Value| match shape {
        Shape::Constant(Value::Object(fields)) => fields
            .get(name)
            .is_none_or(|field| schema_accepts(schema, TestedValue::Value(field))),
        Shape::Object(object) => object
            .get(name)
            .is_none_or(|field| schema_accepts(schema, TestedValue::Node(field))),
        Shape::Constant(_) | Shape::Unknown | Shape::List(_) => true,
    };
    match rule {
        Value::Object(described) => described
            .iter()
            .all(|(name, schema)| field_accepts(name, schema)),
        _ => !is_kind(shape, "object"),
    }
}

fn additional_accepts(rule: &Value, rules: &Object, shape: &Shape<'_>) -> bool {
    let described = rules.get("properties").and_then(Value::as_object);
    let accepts = |name: &str, field: TestedValue<'_>| {
        described.is_some_and(|described| described.contains_key(name))
            // The field exists, whatever its value will be.
            || *rule != Value::Bool(false) && schema_accepts(rule, field)
    };
    let has_patterns = rules.contains_key("patternProperties");
    match shape {
        Shape::Constant(Value::Object(fields)) => {
            !has_patterns
                && fields
                    .iter()
                    .all(|(name, field)| accepts(name, TestedValue::Value(field)))
        }
        Shape::Object(object) => {
            !has_patterns
                && object
                    .0
                    .iter()
                    .all(|field| accepts(&field.key, TestedValue::Node(&field.value)))
        }
        Shape::Constant(_) | Shape::Unknown | Shape::List(_) => true,
    }
}

fn is_kind(shape: &Shape<'_>, kind: &str) -> bool {
    match (kind, shape) {
        ("null", Shape::Constant(Value::Null))
        | ("boolean", Shape::Constant(Value::Bool(_)))
        | ("number", Shape::Constant(Value::Number(_)))
        | ("string", Shape::Constant(Value::Text(_)))
        | ("array", Shape::Constant(Value::List(_)) | Shape::List(_))
        | ("object", Shape::Constant(Value::Object(_)) | Shape::Object(_)) => true,
        ("integer", Shape::Constant(Value::Number(number))) => number.is_i64() || number.is_u64(),
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

fn is_long_enough(keyword: &str, limit: &Value, shape: &Shape<'_>) -> bool {
    let length = match (keyword, shape) {
        ("minLength" | "maxLength", Shape::Constant(Value::Text(text))) => text.chars().count(),
        ("minItems" | "maxItems", Shape::Constant(Value::List(items))) => items.len(),
        ("minItems" | "maxItems", Shape::List(items)) => items.len(),
        ("minProperties" | "maxProperties", Shape::Constant(Value::Object(fields))) => fields.len(),
        ("minProperties" | "maxProperties", Shape::Object(object)) => object.len(),
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
