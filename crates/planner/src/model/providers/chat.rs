//! Requests in the form that `genai` takes: the messages, the response format within the rules of each provider, and the
//! reasoning that goes back to the provider.
//!
//! A provider that enforces a schema prevents any other reply, so a schema is sent only if the provider interprets it as we do.
//! Strict modes close every object, which would leave plans without arguments.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, JsonSpec,
    MessageContent, ReasoningEffort, Tool, ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use super::super::{Message, ModelCall, ModelRequest};
use super::retry::{DroppedParameters, OptionalParameter};
use super::rules::{FormatSupport, ProviderRules, ResultMessages};
use super::settings::ProviderSettings;
use crate::model::AnswerSchema;

/// Converts the conversation, its system prompt and its tools.
pub(super) fn chat_request(
    request: &ModelRequest,
    rules: ProviderRules,
    reasoning: &ReasoningCache,
) -> ChatRequest {
    let mut messages = Vec::new();
    let mut results: Vec<ToolResponse> = Vec::new();
    let mut names: HashMap<&str, &str> = HashMap::new();
    for message in &request.messages {
        if let Message::ToolResult { call, text } = message {
            // Results are collected, since some protocols want all results of a round in one message.
            let result = ToolResponse::new(call, text);
            // Some protocols identify a result by the name of its tool.
            results.push(match names.get(call.as_str()) {
                Some(name) => result.with_fn_name(*name),
                None => result,
            });
            continue;
        }
        messages.extend(tool_messages(&mut results, rules));
        match message {
            Message::User(text) => messages.push(ChatMessage::user(text)),
            Message::Assistant { text, calls } => {
                names.extend(
                    calls
                        .iter()
                        .map(|call| (call.id.as_str(), call.name.as_str())),
                );
                // The original message has the reasoning that some providers require.
                let original = reasoning.find(text, calls);
                messages.extend(original.or_else(|| assistant_message(text, calls)));
            }
            Message::ToolResult { .. } => {}
        }
    }
    messages.extend(tool_messages(&mut results, rules));
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(&*request.system);
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(|tool| {
            Tool::new(tool.name.clone())
                .with_description(&tool.description)
                .with_schema(Value::from(&tool.parameters))
        }));
    }
    chat
}

/// Converts tool results: one message for all of them, except for protocols with one message per result.
fn tool_messages(results: &mut Vec<ToolResponse>, rules: ProviderRules) -> Vec<ChatMessage> {
    let results = std::mem::take(results);
    if rules.results == ResultMessages::Each {
        return results.into_iter().map(ChatMessage::tool).collect();
    }
    if results.is_empty() {
        return Vec::new();
    }
    vec![ChatMessage::tool(MessageContent::from_tool_responses(
        results,
    ))]
}

/// Converts a message of the model. Returns `None` for an empty message, which some providers reject.
fn assistant_message(text: &str, calls: &[ModelCall]) -> Option<ChatMessage> {
    let text = Some(text).filter(|text| !text.is_empty());
    let text = text.map(|text| ContentPart::Text(text.to_owned()));
    let calls = calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: sent_arguments(call),
            thought_signatures: None,
        })
    });
    let parts: Vec<ContentPart> = text.into_iter().chain(calls).collect();
    (!parts.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

/// Returns the arguments of a call as sent back to the provider. Providers accept objects only; if the model wrote anything else,
/// the result of the call quotes it.
fn sent_arguments(call: &ModelCall) -> Value {
    match Value::from(&call.arguments) {
        object @ Value::Object(_) => object,
        _ => Value::Object(serde_json::Map::new()),
    }
}

/// Builds the options: timeouts, temperature, length and response format.
pub(super) fn chat_options(
    request: &ModelRequest,
    settings: &ProviderSettings,
    (rules, model): (ProviderRules, &str),
    dropped: &DroppedParameters,
) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_stream_header_timeout(settings.header_timeout)
        .with_stream_read_timeout(settings.idle_timeout)
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        // The raw body has the parts that `genai` drops.
        .with_capture_raw_body(true);
    if rules.returns_reasoning {
        options = options.with_capture_reasoning_content(true);
    }
    if !dropped.contains(OptionalParameter::Temperature) {
        options = options.with_temperature(settings.temperature.unwrap_or(request.temperature));
    }
    if let Some(max_tokens) = request.max_tokens.or(settings.max_tokens) {
        options = options.with_max_tokens(max_tokens);
    }
    if rules.passes_through && ends_in_effort(model) {
        // Without an explicit effort, `genai` cuts suffixes such as `-medium` off the model's name.
        options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
    }
    if request.is_prefix_shared && rules.needs_cache_request {
        options = options.with_cache_control(CacheControl::Ephemeral);
    }
    match &request.answer {
        Some(answer) if !dropped.contains(OptionalParameter::AnswerSchema) => {
            add_schema(options, answer, rules.format)
        }
        _ => options,
    }
}

/// Returns true if `genai` would read the end of the name, as in `mistral-medium`, as a reasoning effort.
fn ends_in_effort(model: &str) -> bool {
    ReasoningEffort::from_model_name(model).0.is_some()
}

/// Maximum number of messages to store; the oldest go first.
const MAX_MESSAGES: usize = 128;

/// The latest messages of the model that request calls, as they arrived. Some providers accept the results of calls only with the
/// unchanged reasoning that led to them, which [`Message`] cannot hold.
#[derive(Debug, Default)]
pub(super) struct ReasoningCache {
    messages: Mutex<VecDeque<ChatMessage>>,
}

impl ReasoningCache {
    /// Stores a message.
    pub(super) fn insert(&self, message: ChatMessage) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == MAX_MESSAGES {
            messages.pop_front();
        }
        messages.push_back(message);
    }

    /// Finds the stored message with exactly this text and these calls.
    fn find(&self, text: &str, calls: &[ModelCall]) -> Option<ChatMessage> {
        if calls.is_empty() {
            return None;
        }
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latest = messages.iter().rev();
        latest
            .find(|message| matches(message, text, calls))
            .cloned()
    }
}

fn matches(message: &ChatMessage, text: &str, calls: &[ModelCall]) -> bool {
    let tool_calls = message.content.tool_calls();
    let is_same = |(tool_call, call): (&&ToolCall, &ModelCall)| {
        tool_call.call_id == call.id
            && tool_call.fn_name == call.name
            && tool_call.fn_arguments == sent_arguments(call)
    };
    tool_calls.len() == calls.len()
        && tool_calls.iter().zip(calls).all(is_same)
        && message.content.texts().concat() == text
}

/// Adds the schema of `answer` to the options as far as the provider supports it.
fn add_schema(options: ChatOptions, answer: &AnswerSchema, support: FormatSupport) -> ChatOptions {
    let schema = Value::from(&answer.schema);
    let strict = |schema| JsonSpec::new(&answer.name, schema);
    match support {
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

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Returns true if every object in a schema is closed and requires all of its fields.
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
