//! Questions as `genai` takes them.

use std::collections::HashMap;

use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, ReasoningEffort, Tool,
    ToolCall, ToolResponse,
};
use serde_json::Value;

use super::super::{Message, ModelCall, ModelRequest};
use super::answer_form;
use super::refused_part::{LeftOut, Part};
use super::settings::ProviderSettings;
use super::thoughts::Thoughts;

/// What is said.
pub(super) fn conversation(
    request: &ModelRequest,
    kind: AdapterKind,
    thoughts: &Thoughts,
) -> ChatRequest {
    let mut messages = Vec::new();
    let mut results: Vec<ToolResponse> = Vec::new();
    let mut names: HashMap<&str, &str> = HashMap::new();
    for message in &request.messages {
        if let Message::ToolResult { call, text } = message {
            let result = ToolResponse::new(call, text);
            results.push(match names.get(call.as_str()) {
                Some(name) => result.with_fn_name(*name),
                None => result,
            });
            continue;
        }
        messages.extend(tool_messages(&mut results, kind));
        match message {
            Message::User(text) => messages.push(ChatMessage::user(text)),
            Message::Assistant { text, calls } => {
                names.extend(
                    calls
                        .iter()
                        .map(|call| (call.id.as_str(), call.name.as_str())),
                );
                let before = thoughts.message(text, calls);
                messages.extend(before.or_else(|| assistant(text, calls)));
            }
            Message::ToolResult { .. } => {}
        }
    }
    messages.extend(tool_messages(&mut results, kind));
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(&*request.system);
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(|offer| {
            Tool::new(offer.name.clone())
                .with_description(&offer.description)
                .with_schema(Value::from(&offer.parameters))
        }));
    }
    chat
}

/// What came of several calls belongs together, but where the protocol has one message for each.
fn tool_messages(results: &mut Vec<ToolResponse>, kind: AdapterKind) -> Vec<ChatMessage> {
    let results = std::mem::take(results);
    if is_ollama(kind) {
        return results.into_iter().map(ChatMessage::tool).collect();
    }
    if results.is_empty() {
        return Vec::new();
    }
    vec![ChatMessage::tool(MessageContent::from_tool_responses(
        results,
    ))]
}

/// What the model said. Some providers refuse a message that says nothing.
fn assistant(text: &str, calls: &[ModelCall]) -> Option<ChatMessage> {
    let words = Some(text).filter(|text| !text.is_empty());
    let words = words.map(|text| ContentPart::Text(text.to_owned()));
    let calls = calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: sent_arguments(call),
            thought_signatures: None,
        })
    });
    let parts: Vec<ContentPart> = words.into_iter().chain(calls).collect();
    (!parts.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

/// The arguments of a call as they go back to the provider. Providers take objects alone; what a model wrote instead is quoted in the
/// result of its call.
pub(super) fn sent_arguments(call: &ModelCall) -> Value {
    match Value::from(&call.arguments) {
        object @ Value::Object(_) => object,
        _ => Value::Object(serde_json::Map::new()),
    }
}

/// How it is to be answered.
pub(super) fn options(
    request: &ModelRequest,
    settings: &ProviderSettings,
    (kind, model): (AdapterKind, &str),
    left_out: &LeftOut,
) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_stream_header_timeout(settings.begin_timeout)
        .with_stream_read_timeout(settings.idle_timeout)
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        .with_capture_raw_body(true);
    if returns_thoughts(kind) {
        options = options.with_capture_reasoning_content(true);
    }
    if !left_out.has(Part::Temperature) {
        options = options.with_temperature(settings.temperature.unwrap_or(request.temperature));
    }
    if let Some(most) = request.max_tokens.or(settings.max_tokens) {
        options = options.with_max_tokens(most);
    }
    if keeps_names(kind) && has_effort(model) {
        options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
    }
    match &request.answer {
        Some(answer) if !left_out.has(Part::AnswerSchema) => {
            answer_form::add(options, answer, (kind, model))
        }
        _ => options,
    }
}

fn is_ollama(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Ollama | AdapterKind::OllamaCloud)
}

/// Whether the provider wants its thoughts back with the results of calls, and gives them without being asked.
fn returns_thoughts(kind: AdapterKind) -> bool {
    !matches!(
        kind,
        AdapterKind::OpenAIResp | AdapterKind::Gemini | AdapterKind::GeminiIx
    )
}

/// Whether it is one of those for whom `genai` speaks as OpenAI does, with nothing in between: there a budget for thinking is
/// not sent, and only keeps `genai` from reading the end of a name as one.
fn keeps_names(kind: AdapterKind) -> bool {
    !matches!(
        kind,
        AdapterKind::Anthropic
            | AdapterKind::Baidu
            | AdapterKind::Cohere
            | AdapterKind::DeepSeek
            | AdapterKind::Gemini
            | AdapterKind::GeminiIx
            | AdapterKind::MiniMax
            | AdapterKind::Ollama
            | AdapterKind::OllamaCloud
            | AdapterKind::OpenAIResp
            | AdapterKind::OpenCodeGo
    )
}

/// Whether `genai` would take the end of a name, such as that of `mistral-medium`, for how hard to think.
fn has_effort(model: &str) -> bool {
    ReasoningEffort::from_model_name(model).0.is_some()
}
