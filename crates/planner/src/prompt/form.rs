//! The forms of answers as JSON Schemas, for providers that hold a model to one. Each accepts every good answer: objects say that they are open,
//! since strict readers take one that says nothing for closed, and references may stand in place of any value.

use planwright_core::{Catalog, Lookup, Object, Value};
use serde_json::{Value as Json, json};

use crate::model::AnswerSchema;

/// The most tools whose names a schema lists. Providers bound the values of an `enum`.
const MAX_TOOLS: usize = 160;

/// The form of a plan with the tools of `catalog`, or of what a model says in place of one.
pub fn plan_form(catalog: &Catalog) -> AnswerSchema {
    let fields = json!({
        "name": {"type": "string"},
        "steps": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "id": {},
                "tool": tool(catalog),
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
    form("plan", fields)
}

/// The form of the arguments of one step.
pub(crate) fn arguments_form() -> AnswerSchema {
    let fields = json!({"args": {"type": ["object", "null"], "additionalProperties": true}});
    form("arguments", fields)
}

/// The form of a solution of the Acts, whose output has the form `output`.
pub(crate) fn solution_form(output: Option<&Value>) -> AnswerSchema {
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
    form("solution", fields)
}

/// An object with `fields`, or with the words of a model that has no such answer.
fn form(name: &str, mut fields: Json) -> AnswerSchema {
    for declined in ["cannot", "ask"] {
        fields[declined] = json!({"type": "string"});
    }
    let schema = json!({"type": "object", "properties": fields, "additionalProperties": true});
    AnswerSchema {
        name: name.to_owned(),
        schema: Value::from(schema),
    }
}

/// The names of the tools, each in every way that leads to it.
fn tool(catalog: &Catalog) -> Json {
    let mut names: Vec<String> = Vec::new();
    for tool in catalog.tools() {
        let spellings = [
            tool.name.to_string(),
            tool.qualified_name(),
            tool.model_name(),
        ];
        for name in spellings {
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

/// A schema under which each value, and each part of it, may be a text in its place, as references are.
fn with_references(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let loosened = fields.iter().map(|(name, part)| {
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
        // A text fits all parts at once.
        let name = if &**name == "oneOf" {
            "anyOf".into()
        } else {
            name.clone()
        };
        (name, part)
    });
    let text = Value::object([("type", Value::from("string"))]);
    let loosened = Value::from(loosened.collect::<Object>());
    Value::object([("anyOf", Value::list([loosened, text]))])
}
