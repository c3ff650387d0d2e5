//! Response formats within the rules of each provider.
//!
//! A provider that enforces a schema prevents any other reply, so a schema is sent only if the provider interprets it as we do.
//! Strict modes close every object, which would leave plans without arguments.

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatResponseFormat, JsonSpec};
use serde_json::{Value, json};

use super::super::AnswerSchema;

/// The kinds of response format that a provider supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatSupport {
    /// Any JSON Schema, unchanged.
    Unchanged,
    /// Any JSON Schema; strict mode only for schemas with closed objects and required fields. The field is that of the chat
    /// completions API.
    Any,
    /// Like `Any`, in the field of the responses API.
    AnyInText,
    /// Schemas with closed objects only.
    Closed,
    /// A JSON object, without a schema.
    Object,
    /// No response format.
    Unsupported,
}

/// Adds the schema of `answer` to the options as far as the provider supports it.
pub(super) fn add_schema(
    options: ChatOptions,
    answer: &AnswerSchema,
    (kind, model): (AdapterKind, &str),
) -> ChatOptions {
    let schema = Value::from(&answer.schema);
    let strict = |schema| JsonSpec::new(&answer.name, schema);
    match format_support(kind, model) {
        FormatSupport::Unchanged => options.with_response_format(strict(schema)),
        FormatSupport::Any | FormatSupport::AnyInText | FormatSupport::Closed
            if is_strict(&schema) =>
        {
            options.with_response_format(strict(schema))
        }
        // `genai` makes every schema strict, which changes its meaning; the extra body does not.
        FormatSupport::Any => {
            let spec = json!({"name": answer.name, "schema": schema, "strict": false});
            let format = json!({"type": "json_schema", "json_schema": spec});
            options.with_extra_body(json!({ "response_format": format }))
        }
        FormatSupport::AnyInText => {
            let format = json!({
                "type": "json_schema", "name": answer.name, "schema": schema, "strict": false,
            });
            options.with_extra_body(json!({"text": {"format": format}}))
        }
        FormatSupport::Object if is_object(&schema) => {
            options.with_response_format(ChatResponseFormat::JsonMode)
        }
        FormatSupport::Closed | FormatSupport::Object | FormatSupport::Unsupported => options,
    }
}

fn format_support(kind: AdapterKind, model: &str) -> FormatSupport {
    match kind {
        AdapterKind::Gemini | AdapterKind::GeminiIx => FormatSupport::Unchanged,
        AdapterKind::OpenAIResp => FormatSupport::AnyInText,
        AdapterKind::Anthropic | AdapterKind::MiniMax => FormatSupport::Closed,
        // `genai` cannot pass a schema to Ollama, and DeepSeek supports none.
        AdapterKind::Ollama | AdapterKind::OllamaCloud | AdapterKind::DeepSeek => {
            FormatSupport::Object
        }
        AdapterKind::Cohere => FormatSupport::Unsupported,
        // These use Anthropic's protocol for some models.
        AdapterKind::OpenCodeGo if model.to_lowercase().starts_with("minimax-") => {
            FormatSupport::Unsupported
        }
        AdapterKind::Baidu if model.starts_with("baidu-coding-anthropic::") => {
            FormatSupport::Closed
        }
        _ => FormatSupport::Any,
    }
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Returns whether every object in a schema is closed and requires all of its fields.
fn is_strict(schema: &Value) -> bool {
    match schema {
        // An empty schema accepts open objects as well.
        Value::Object(map) if map.is_empty() => false,
        Value::Object(map) => {
            let is_closed_and_complete = !may_be_object(map) || requires_all(map);
            is_closed_and_complete && map.iter().all(|(name, part)| is_part_strict(name, part))
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// Checks a keyword of a schema. The keys of `properties` are names, not keywords.
fn is_part_strict(name: &str, part: &Value) -> bool {
    match (name, part) {
        ("properties" | "$defs" | "definitions", Value::Object(parts)) => {
            parts.values().all(is_strict)
        }
        // These hold plain values, not schemas.
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

fn requires_all(map: &serde_json::Map<String, Value>) -> bool {
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    let empty = serde_json::Map::new();
    let properties = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let requires = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    is_closed && properties.unwrap_or(&empty).keys().all(requires)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_support(kind: AdapterKind, model: &str, expected: FormatSupport) {
        assert_eq!(format_support(kind, model), expected, "{kind:?} {model}");
    }

    /// Covers providers with fixed addresses, which no test can reach.
    #[test]
    fn providers_have_a_format() {
        check_support(AdapterKind::Zai, "glm-5", FormatSupport::Any);
        check_support(AdapterKind::Baidu, "ernie", FormatSupport::Any);
        let model = "baidu-coding-anthropic::glm-5";
        check_support(AdapterKind::Baidu, model, FormatSupport::Closed);
    }

    fn check(schema: Value, expected: bool) {
        assert_eq!(is_strict(&schema), expected, "{schema}");
    }

    #[test]
    fn strict_schemas_are_recognized() {
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
