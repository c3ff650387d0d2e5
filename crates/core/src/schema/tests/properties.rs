//! Properties of all schemas and values.

use proptest::prelude::*;

use crate::Value;
use crate::schema::{Compatibility, Schema, Type};

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::json!(null)),
        any::<bool>().prop_map(Into::into),
        (-2_i64..3).prop_map(Into::into),
        Just(serde_json::json!(0.5)),
        Just(serde_json::json!(1.0)),
        "[ab]{0,1}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            prop::collection::btree_map("[ab]", inner, 0..3)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// Generates schemas with all kinds of keywords, including those that types ignore.
fn any_schema() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let kind = prop::sample::select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Into::into),
        kind.clone().prop_map(|kind| json!({"type": kind})),
        (kind.clone(), kind).prop_map(|(one, other)| if one == other {
            json!({"type": one})
        } else {
            json!({"type": [one, other]})
        }),
        any_value().prop_map(|value| json!({"const": value})),
        (any_value(), any_value()).prop_map(|(one, other)| json!({"enum": [one, other]})),
        prop::sample::select(vec![
            json!({"minimum": 1}),
            json!({"exclusiveMaximum": 1}),
            json!({"maxLength": 0}),
            json!({"minItems": 1, "maxItems": 2}),
            json!({"minProperties": 1}),
            json!({"pattern": "^a", "title": "with an a"}),
            json!({"uniqueItems": true, "type": "array"}),
            json!({"required": ["b"], "x-own": 1}),
            json!({"items": {"type": "integer"}}),
            json!({"additionalProperties": false}),
        ]),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"anyOf": all})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"oneOf": all})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"allOf": all})),
            inner.clone().prop_map(|inner| json!({"not": inner})),
            (inner.clone(), inner.clone()).prop_map(
                |(first, rest)| json!({"type": "array", "prefixItems": [first], "items": rest})
            ),
            (inner.clone(), inner.clone(), inner.clone(), any::<bool>()).prop_map(
                |(a, b, rest, required)| json!({
                    "type": "object",
                    "properties": {"a": a, "b": b},
                    "required": if required { json!(["a"]) } else { json!([]) },
                    "additionalProperties": rest,
                })
            ),
            (inner.clone(), inner).prop_map(
                |(a, rest)| json!({"properties": {"a": a}, "patternProperties": {"b": rest}, "additionalProperties": false})
            ),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_type_admits_whatever_its_schema_takes(text in any_schema(), value in any_value()) {
        let schema = Schema::from_value(text.into());
        let value = Value::from(value);
        prop_assume!(schema.malformed().is_none());
        if schema.is_valid(&value) {
            prop_assert!(schema.structure().admits(&value));
            prop_assert_ne!(schema.structure().accepts(&Type::Literal(value)), Compatibility::No);
        }
    }

    #[test]
    fn a_value_in_both_means_never_no(one in any_schema(), other in any_schema(), value in any_value()) {
        let (one, other) = (Schema::from_value(one.into()), Schema::from_value(other.into()));
        let value = Value::from(value);
        prop_assume!(one.malformed().is_none() && other.malformed().is_none());
        if one.is_valid(&value) && other.is_valid(&value) {
            prop_assert_ne!(one.structure().accepts(other.structure()), Compatibility::No);
        }
    }

    #[test]
    fn validation_agrees_with_a_copy(text in any_schema(), value in any_value()) {
        let Ok(reference) = jsonschema::options().offline().build(&text) else {
            return Ok(());
        };
        let schema = Schema::from_value(text.into());
        // A schema with an endless reference is malformed here, but accepted by the reference validator.
        prop_assume!(schema.malformed().is_none());
        prop_assert_eq!(schema.is_valid(&Value::from(value.clone())), reference.is_valid(&value));
    }
}
