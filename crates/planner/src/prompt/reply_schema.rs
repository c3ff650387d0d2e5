//! JSON Schemas of replies, for providers that enforce them. Each schema accepts every valid reply: objects are declared open, since
//! strict readers close objects that declare nothing, and any value may be a reference instead.

use planwright_core::{Catalog, Lookup, Object, Value};
use serde_json::{Value as Json, json};

use crate::model::AnswerSchema;

/// Maximum number of tools listed by name in a schema. Providers limit the length of an `enum`.
const MAX_TOOLS: usize = 160;

/// Returns the schema of a plan with the tools of `catalog`, or of a declining reply.
pub fn plan_schema(catalog: &Catalog) -> AnswerSchema {
    let fields = json!({
        "name": {"type": "string"},
        "steps": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "id": {},
                "tool": tool_schema(catalog),
                "args": {"type": "object", "additionalProperties": true},
                "value": {},
                "for_each": {},
                "when": {},
                "after": {},
                "on_error": {},
                "retry": {},
                "timeout": {}
            },
            "additionalProperties": true
        }},
        "output": {}
    });
    reply_schema("plan", fields)
}

/// Returns the schema of corrected arguments for a step.
pub(crate) fn arguments_schema() -> AnswerSchema {
    let fields = json!({"args": {"type": ["object", "null"], "additionalProperties": true}});
    reply_schema("arguments", fields)
}

/// Returns the schema of a solution in the Acts protocol; `output` is the schema of its output.
pub(crate) fn solution_schema(output: Option<&Value>) -> AnswerSchema {
    let output = output.map_or_else(
        || json!({}),
        |output| json!({"anyOf": [{"type": "null"}, Json::from(&with_references(output))]}),
    );
    let fields = json!({
        "calls": {"type": "array", "items": {
            "type": "object",
            "properties": {"_tool": {"type": "string"}, "_outputPath": {"type": "string"}},
            "required": ["_tool"],
            "additionalProperties": true
        }},
        "output": output
    });
    reply_schema("solution", fields)
}

/// Returns the schema of an object with `fields`, or with the fields of a declining reply.
fn reply_schema(name: &str, mut fields: Json) -> AnswerSchema {
    for declined in ["cannot", "ask"] {
        fields[declined] = json!({"type": "string"});
    }
    let schema = json!({"type": "object", "properties": fields, "additionalProperties": true});
    AnswerSchema {
        name: name.to_owned(),
        schema: Value::from(schema),
    }
}

/// Returns the schema of a tool name, with every unambiguous spelling.
fn tool_schema(catalog: &Catalog) -> Json {
    let mut names: Vec<String> = Vec::new();
    for tool_schema in catalog.tools() {
        let spellings = [
            tool_schema.name.to_string(),
            tool_schema.qualified_name(),
            tool_schema.model_name(),
        ];
        for name in spellings {
            // A name that several servers use is ambiguous without its server.
            if matches!(catalog.find(&name), Lookup::Found(_)) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() || catalog.tools().count() > MAX_TOOLS {
        return json!({"type": "string"});
    }
    json!({"type": "string", "enum": names})
}

/// Relaxes a schema so that each value in it may be a reference, which is text.
fn with_references(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let relaxed = fields.iter().map(|(name, part)| {
        let part = match (&**name, part) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions",
                Value::Object(parts),
            ) => {
                let parts = parts.iter();
                let parts = parts.map(|(name, part)| (name.clone(), with_references(part)));
                Value::from(parts.collect::<Object>())
            }
            ("items" | "additionalProperties", part) => with_references(part),
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::List(parts)) => {
                Value::list(parts.iter().map(with_references))
            }
            (_, part) => part.clone(),
        };
        // Text matches every branch, so `oneOf` would reject it.
        let name = if &**name == "oneOf" {
            "anyOf".into()
        } else {
            name.clone()
        };
        (name, part)
    });
    let text = Value::object([("type", Value::from("string"))]);
    let relaxed = Value::from(relaxed.collect::<Object>());
    Value::object([("anyOf", Value::list([relaxed, text]))])
}
