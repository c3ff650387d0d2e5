//! Schemas of responses.

use serde_json::{Map, Value, json};

use super::body::{essence, is_json};
use super::document::SpecVersion;
use super::reference;
use super::schema::{Direction, SchemaReader};

/// The field that has the value of a response that is not an object, because structured content is one.
pub(crate) const RESULT_FIELD: &str = "result";

/// The schema of the structured content of a tool's results.
#[derive(Clone, Debug)]
pub(crate) struct OutputSchema {
    pub(crate) schema: Value,
    /// True if the value of a response is in [`RESULT_FIELD`].
    pub(crate) is_wrapped: bool,
}

/// Returns the schema of all successful responses of an operation, or `None` if one of them has no schema.
pub(crate) fn output_schema(
    document: &Value,
    version: SpecVersion,
    operation: &Value,
) -> Option<OutputSchema> {
    let responses = operation.get("responses")?.as_object()?;
    let is_success = |status: &str| status.len() == 3 && status.starts_with('2');
    let has_success = responses.keys().any(|status| is_success(status));
    let mut reader = SchemaReader::new(document, version, Direction::Output);
    let mut schemas: Vec<Value> = Vec::new();
    for (status, response) in responses {
        if !is_success(status) && (has_success || status != "default") {
            continue;
        }
        let response = reference::resolve(document, response).ok()?;
        let content = response.get("content")?.as_object()?;
        // Requests ask for JSON, so other types beside it do not occur.
        let is_json = |(name, _): &(&String, &Value)| is_json(&essence(name)) || *name == "*/*";
        let mut has_json = false;
        for (_, media) in content.iter().filter(is_json) {
            has_json = true;
            let schema = reader.read(media.get("schema")?).ok()?;
            if !schemas.contains(&schema) {
                schemas.push(schema);
            }
        }
        // A response of another type has no structured content.
        if !has_json {
            return None;
        }
    }
    let definitions = reader.definitions().ok()?;
    let schema = match schemas.len() {
        0 => return None,
        1 => schemas.remove(0),
        _ => json!({ "anyOf": schemas }),
    };
    // A schema that accepts everything says nothing.
    if schema.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    let is_wrapped = !is_object(&schema);
    let mut fields = if is_wrapped {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), json!("object"));
        fields.insert("properties".to_owned(), json!({ RESULT_FIELD: schema }));
        fields.insert("required".to_owned(), json!([RESULT_FIELD]));
        fields
    } else {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), json!("object"));
        fields.extend(schema.as_object().cloned().unwrap_or_default());
        fields
    };
    if !definitions.is_empty() {
        fields.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Some(OutputSchema {
        schema: Value::Object(fields),
        is_wrapped,
    })
}

/// Returns true if a schema accepts objects only.
fn is_object(schema: &Value) -> bool {
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    match schema.get("type") {
        Some(kind) => kind == "object",
        None => {
            list("allOf").is_some_and(|parts| parts.iter().any(is_object))
                || ["anyOf", "oneOf"].iter().any(|keyword| {
                    list(keyword).is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_object))
                })
                // Documents often omit the type of an object.
                || schema.get("properties").is_some()
        }
    }
}
