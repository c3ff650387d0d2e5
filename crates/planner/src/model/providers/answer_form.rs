//! The form of an answer, within the rules of each provider.
//!
//! A provider that enforces a schema lets the model write nothing else, so a schema is sent only where it means the same to the provider
//! as to us. Strict modes close every object: in them a plan could have no arguments.

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatResponseFormat, JsonSpec};
use serde_json::{Value, json};

use super::super::AnswerSchema;

/// What a provider takes as the form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// Any JSON Schema, as it is.
    Schema,
    /// Schemas in a strict mode, whose objects are closed and whose fields are required, and any others beside it. The place of
    /// the schema is that of the chat completions.
    StrictOrNot,
    /// The same for the responses API.
    StrictOrNotInText,
    /// Schemas whose objects are closed.
    Closed,
    /// No schema, but that the answer is one JSON object.
    Object,
    /// Nothing at all.
    Nothing,
}

/// Asks for the form of `answer` as far as the provider has a way to say it.
pub(super) fn add(
    options: ChatOptions,
    answer: &AnswerSchema,
    (kind, model): (AdapterKind, &str),
) -> ChatOptions {
    let schema = Value::from(&answer.schema);
    let strict = |schema| JsonSpec::new(&answer.name, schema);
    match rules(kind, model) {
        Rules::Schema => options.with_response_format(strict(schema)),
        Rules::StrictOrNot | Rules::StrictOrNotInText | Rules::Closed if is_strict(&schema) => {
            options.with_response_format(strict(schema))
        }
        // `genai` makes all schemas strict, and so changes what they mean.
        Rules::StrictOrNot => {
            let spec = json!({"name": answer.name, "schema": schema, "strict": false});
            let format = json!({"type": "json_schema", "json_schema": spec});
            options.with_extra_body(json!({ "response_format": format }))
        }
        Rules::StrictOrNotInText => {
            let format = json!({
                "type": "json_schema", "name": answer.name, "schema": schema, "strict": false,
            });
            options.with_extra_body(json!({"text": {"format": format}}))
        }
        Rules::Object if is_object(&schema) => {
            options.with_response_format(ChatResponseFormat::JsonMode)
        }
        Rules::Closed | Rules::Object | Rules::Nothing => options,
    }
}

fn rules(kind: AdapterKind, model: &str) -> Rules {
    match kind {
        AdapterKind::Gemini | AdapterKind::GeminiIx => Rules::Schema,
        AdapterKind::OpenAIResp => Rules::StrictOrNotInText,
        AdapterKind::Anthropic | AdapterKind::MiniMax => Rules::Closed,
        // `genai` has no way to hand Ollama a schema, and DeepSeek knows none.
        AdapterKind::Ollama | AdapterKind::OllamaCloud | AdapterKind::DeepSeek => Rules::Object,
        AdapterKind::Cohere => Rules::Nothing,
        // These speak as Anthropic does for some models.
        AdapterKind::OpenCodeGo if model.to_lowercase().starts_with("minimax-") => Rules::Nothing,
        AdapterKind::Baidu if model.starts_with("baidu-coding-anthropic::") => Rules::Closed,
        _ => Rules::StrictOrNot,
    }
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Whether every object of a schema says all that it has, and demands all of it.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) if map.is_empty() => false,
        Value::Object(map) => {
            let is_whole = !may_be_object(map) || demands_all(map);
            is_whole && map.iter().all(|(name, part)| is_part_strict(name, part))
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// The fields of `properties` are schemas under names, of which none is a keyword.
fn is_part_strict(name: &str, part: &Value) -> bool {
    match (name, part) {
        ("properties" | "$defs" | "definitions", Value::Object(parts)) => {
            parts.values().all(is_strict)
        }
        ("enum" | "const" | "default" | "examples", _) => true,
        _ => is_strict(part),
    }
}

fn may_be_object(map: &serde_json::Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => map.contains_key("properties"),
    }
}

fn demands_all(map: &serde_json::Map<String, Value>) -> bool {
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    let empty = serde_json::Map::new();
    let properties = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let demands = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    is_closed && properties.unwrap_or(&empty).keys().all(demands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_rules(kind: AdapterKind, model: &str, expected: Rules) {
        assert_eq!(rules(kind, model), expected, "{kind:?} {model}");
    }

    /// Those that no test can ask, since they are always asked at their own address.
    #[test]
    fn providers_have_rules() {
        check_rules(AdapterKind::Zai, "glm-5", Rules::StrictOrNot);
        check_rules(AdapterKind::Baidu, "ernie", Rules::StrictOrNot);
        let model = "baidu-coding-anthropic::glm-5";
        check_rules(AdapterKind::Baidu, model, Rules::Closed);
    }

    fn check(schema: Value, expected: bool) {
        assert_eq!(is_strict(&schema), expected, "{schema}");
    }

    #[test]
    fn strict_schemas_are_known() {
        check(json!({}), false);
        check(json!({"type": "string"}), true);
        check(json!({"type": "object"}), false);
        check(json!({"type": ["object", "null"]}), false);
        check(
            json!({"type": "object", "additionalProperties": false}),
            true,
        );
        let whole = json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": false,
        });
        check(whole.clone(), true);
        check(json!({"type": "array", "items": whole}), true);
        check(json!({"type": "array", "items": {"type": "object"}}), false);
        check(json!({"type": "array", "items": {}}), false);
        let open = json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": false,
        });
        check(open, false);
        let anything = json!({
            "type": "object",
            "properties": {"a": {}},
            "required": ["a"],
            "additionalProperties": false,
        });
        check(anything, false);
    }
}
