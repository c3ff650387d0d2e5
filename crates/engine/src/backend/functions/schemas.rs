//! JSON Schemas of Rust types: parameters as serde reads them, results as it writes them.

use std::sync::Arc;

use planwright_core::{Schema, Value};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

/// The parameters of a function.
pub(super) struct Parameters {
    /// A schema of an object.
    pub(super) schema: Schema,
    /// The doc comment on the type.
    pub(super) description: Option<Arc<str>>,
    /// True if there are none: the type deserializes from `null`, but the function is called with `{}`.
    pub(super) is_unit: bool,
}

/// The parameters described by the fields of `A`.
pub(super) fn of_parameters<A: JsonSchema>() -> Parameters {
    let mut schema = root_schema::<A>(SchemaSettings::draft2020_12().for_deserialize());
    let description = schema
        .remove("description")
        .and_then(|text| text.as_str().map(Arc::from));
    let is_unit = schema.get("type").is_some_and(|kind| kind == "null");
    if is_unit {
        schema = schemars::json_schema!({"type": "object", "additionalProperties": false});
    }
    Parameters {
        schema: close_and_convert(schema),
        description,
        is_unit,
    }
}

/// The schema of a result.
pub(super) fn of_result<T: JsonSchema>() -> Schema {
    close_and_convert(root_schema::<T>(
        SchemaSettings::draft2020_12().for_serialize(),
    ))
}

/// Generates a schema without its dialect and the name of the Rust type, which mean nothing to authors of plans.
fn root_schema<T: JsonSchema>(settings: SchemaSettings) -> schemars::Schema {
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

fn close_and_convert(schema: schemars::Schema) -> Schema {
    let mut text = schema.to_value();
    forbid_additional(&mut text, SchemaPosition::Whole);
    Schema::from_value(Value::from(text))
}

/// The position of a schema: a complete description of its values, or one branch of a combination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPosition {
    Whole,
    Branch,
}

/// Forbids additional properties on every object with fields, unless the schema describes it elsewhere, too: serde
/// writes no others and rejects unknown ones. So a misspelt name is found before the run.
fn forbid_additional(schema: &mut Json, position: SchemaPosition) {
    const BRANCHES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    const OTHERS: [&str; 3] = ["$ref", "additionalProperties", "unevaluatedProperties"];
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let has_more = |words: &[&str]| words.iter().any(|word| fields.contains_key(*word));
    // The branches of a combination describe one object together: closing one would forbid the fields of the others.
    let is_complete =
        position == SchemaPosition::Whole && !has_more(&BRANCHES) && !has_more(&OTHERS);
    if is_complete && fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    for (word, inner) in fields {
        match (word.as_str(), inner) {
            ("properties" | "$defs", Json::Object(schemas)) => {
                for schema in schemas.values_mut() {
                    forbid_additional(schema, SchemaPosition::Whole);
                }
            }
            ("items" | "additionalProperties", schema) => {
                forbid_additional(schema, SchemaPosition::Whole);
            }
            ("prefixItems", Json::Array(schemas)) => {
                for schema in schemas {
                    forbid_additional(schema, SchemaPosition::Whole);
                }
            }
            (word, Json::Array(schemas)) if BRANCHES.contains(&word) => {
                for schema in schemas {
                    forbid_additional(schema, SchemaPosition::Branch);
                }
            }
            _ => {}
        }
    }
}
