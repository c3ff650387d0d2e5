//! Rust types as schemas: parameters as serde reads them, results as it writes them.

use std::sync::Arc;

use planwright_core::{Schema, Value};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

/// What is known about the parameters of a function.
pub(super) struct Parameters {
    /// A schema of an object.
    pub(super) schema: Schema,
    /// The comment on the type.
    pub(super) description: Option<Arc<str>>,
    /// Whether there are none: the type reads `null`, the function is called with `{}`.
    pub(super) is_unit: bool,
}

/// The parameters that the fields of `A` are.
pub(super) fn of_parameters<A: JsonSchema>() -> Parameters {
    let mut schema = root::<A>(SchemaSettings::draft2020_12().for_deserialize());
    let description = schema
        .remove("description")
        .and_then(|text| text.as_str().map(Arc::from));
    let is_unit = schema.get("type").is_some_and(|kind| kind == "null");
    if is_unit {
        schema = schemars::json_schema!({"type": "object", "additionalProperties": false});
    }
    Parameters {
        schema: from(schema),
        description,
        is_unit,
    }
}

/// The schema of a result.
pub(super) fn of_result<T: JsonSchema>() -> Schema {
    from(root::<T>(SchemaSettings::draft2020_12().for_serialize()))
}

/// A schema without its dialect and without the name of the Rust type, which mean nothing to those who write plans.
fn root<T: JsonSchema>(settings: SchemaSettings) -> schemars::Schema {
    let settings = settings.with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if schema
        .get("title")
        .is_some_and(|title| title == &*T::schema_name())
    {
        schema.remove("title");
    }
    schema
}

fn from(schema: schemars::Schema) -> Schema {
    let mut text = schema.to_value();
    close(&mut text, Part::Whole);
    Schema::from_value(Value::from(text))
}

/// Whether a schema says all about its values, or others say more about the same ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Branch,
}

/// Says of every object with fields that it has no others, unless more is said about it elsewhere: serde writes no
/// others, and lets none through that it does not know. So a slip in a name is found before the run.
fn close(schema: &mut Json, part: Part) {
    const BRANCHES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    const OTHERS: [&str; 3] = ["$ref", "additionalProperties", "unevaluatedProperties"];
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let has_more = |words: &[&str]| words.iter().any(|word| fields.contains_key(*word));
    let is_all = part == Part::Whole && !has_more(&BRANCHES) && !has_more(&OTHERS);
    if is_all && fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    for (word, inner) in fields {
        match (word.as_str(), inner) {
            ("properties" | "$defs", Json::Object(schemas)) => {
                for schema in schemas.values_mut() {
                    close(schema, Part::Whole);
                }
            }
            ("items" | "additionalProperties", schema) => close(schema, Part::Whole),
            ("prefixItems", Json::Array(schemas)) => {
                for schema in schemas {
                    close(schema, Part::Whole);
                }
            }
            (word, Json::Array(schemas)) if BRANCHES.contains(&word) => {
                for schema in schemas {
                    close(schema, Part::Branch);
                }
            }
            _ => {}
        }
    }
}
