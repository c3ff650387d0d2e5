//! A single attempt at a request, the reply in the form that `genai` returns, and the parts of a response that `genai`
//! drops: refusal texts, block reasons, and calls with malformed arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures_channel::mpsc::UnboundedSender;
use genai::chat::{
    ChatFrameSink, ChatMessage, ChatOptions, ChatRequest, ChatResponse, ChatStreamEvent,
    ContentPart, FrameCtx, MessageContent, RawFrameRef, StopReason, StreamEnd,
};
use genai::{Client, Error, ModelIden, ServiceTarget};
use planwright_core::Value;
use serde_json::Value as Json;

use super::super::{Delivery, FinishReason, ModelCall, ModelError, Reply, ReplyChunk, Usage};
use super::attempt_error::{AttemptError, ErrorContext};
use super::relay::{Relay, UnparsedBytes};
use super::rules::StreamEndRule;

/// A reply, and the message to send back with the results of its calls.
#[derive(Debug)]
pub(super) struct ProviderReply {
    pub(super) reply: Reply,
    pub(super) reasoning_message: Option<ChatMessage>,
    /// True if the response states why it ended.
    has_end: bool,
    /// True if the response states its usage.
    has_usage: bool,
    /// The provider's finish reason if it means that the reply is unusable.
    interruption: Option<String>,
}

impl ProviderReply {
    /// Converts a reply that arrived as a whole.
    pub(super) fn from_response(response: ChatResponse) -> Self {
        let mut dropped = DroppedParts::default();
        if let Some(body) = &response.captured_raw_body {
            dropped.read(body);
        }
        Self::new(
            response.content,
            response.reasoning_content,
            response.stop_reason.as_ref(),
            Some(&response.usage),
            dropped,
        )
    }

    /// Converts a streamed reply.
    fn from_stream(end: StreamEnd, dropped: DroppedParts) -> Self {
        Self::new(
            end.captured_content.unwrap_or_default(),
            end.captured_reasoning_content,
            end.captured_stop_reason.as_ref(),
            end.captured_usage.as_ref(),
            dropped,
        )
    }

    /// Wraps a reply that was parsed without `genai`.
    fn from_reply(reply: Reply) -> Self {
        Self {
            reply,
            reasoning_message: None,
            has_end: true,
            has_usage: true,
            interruption: None,
        }
    }

    fn new(
        mut content: MessageContent,
        reasoning: Option<String>,
        stop: Option<&StopReason>,
        usage: Option<&genai::chat::Usage>,
        dropped: DroppedParts,
    ) -> Self {
        let mut reply = Reply::text(content.texts().concat());
        reply.calls = content
            .tool_calls()
            .into_iter()
            .map(|call| ModelCall {
                id: call.call_id.clone(),
                name: call.fn_name.clone(),
                arguments: arguments(&call.fn_arguments),
            })
            .collect();
        reply.finish = stop.map_or(FinishReason::Complete, finish);
        dropped.fill_in(&mut reply);
        reply.usage = usage.map(convert_usage).unwrap_or_default();
        for part in &mut content {
            // In messages that are sent back, arguments must be objects.
            if let ContentPart::ToolCall(call) = part
                && !call.fn_arguments.is_object()
            {
                call.fn_arguments = serde_json::json!({});
            }
        }
        // Reasoning is sent back with the results of calls only.
        let reasoning_message = (!reply.calls.is_empty()).then(|| {
            let has_reasoning = content.contains_reasoning_content();
            let message = ChatMessage::assistant(content);
            if has_reasoning {
                return message;
            }
            message.with_reasoning_content(reasoning)
        });
        Self {
            reply,
            reasoning_message,
            has_end: stop.is_some(),
            has_usage: usage.is_some(),
            interruption: match stop {
                Some(StopReason::Other(word)) if is_interruption(word) => Some(word.clone()),
                _ => None,
            },
        }
    }

    /// Returns true if a streamed reply is complete.
    fn is_complete(&self, rule: StreamEndRule) -> bool {
        match rule {
            StreamEndRule::Reported => true,
            StreamEndRule::Reason => self.has_end,
            StreamEndRule::ReasonOrUsage => self.has_end || self.has_usage,
        }
    }

    /// Returns true if the response holds no reply.
    pub(super) fn is_empty(&self) -> bool {
        self.reply.text.is_empty() && self.reply.calls.is_empty() && !self.has_end
    }
}

fn finish(stop: &StopReason) -> FinishReason {
    match stop {
        StopReason::MaxTokens(_) => FinishReason::Length,
        // Anthropic reports a refusal by the model itself in this way.
        StopReason::ContentFilter(word) if word == "refusal" => FinishReason::Refusal,
        StopReason::ContentFilter(word) => FinishReason::Filter(word.clone()),
        // Zhipu calls a filtered reply `sensitive`.
        StopReason::Other(word) if word == "sensitive" => FinishReason::Filter(word.clone()),
        _ => FinishReason::Complete,
    }
}

/// Returns true if a provider's finish reason means that the reply is unusable.
fn is_interruption(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    // Gemini has `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL` and `OTHER`, DeepSeek `insufficient_system_resource`,
    // Anthropic `pause_turn`, and Zhipu `network_error`.
    let is_malformed = word.starts_with("malformed_") || word.ends_with("_tool_call");
    is_malformed
        || matches!(
            word.as_str(),
            "abort"
                | "cancelled"
                | "error"
                | "failed"
                | "insufficient_system_resource"
                | "network_error"
                | "other"
                | "pause_turn"
                | "timeout"
                | "too_many_tool_calls"
        )
}

/// Normalizes the arguments of a call: providers write missing arguments as null or as empty text.
pub(super) fn arguments(reply: &serde_json::Value) -> Value {
    let is_nothing = reply.is_null() || reply.as_str().is_some_and(|text| text.trim().is_empty());
    if is_nothing {
        return Value::from(serde_json::json!({}));
    }
    Value::from(reply.clone())
}

fn convert_usage(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| {
        tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or(0)
    };
    let details = usage.prompt_tokens_details.as_ref();
    Usage {
        input_tokens: count(usage.prompt_tokens),
        cached_tokens: count(details.and_then(|details| details.cached_tokens)),
        output_tokens: count(usage.completion_tokens),
        ..Usage::default()
    }
}

/// Maximum bytes on the wire per byte of the reply, since each token comes in its own envelope.
const MAX_FRAME_OVERHEAD: usize = 128;

/// Receiver of the chunks of a reply.
#[derive(Debug)]
pub(super) struct ChunkSink {
    chunks: UnboundedSender<Result<ReplyChunk, ModelError>>,
    /// True if a chunk was passed on. It cannot be taken back, so no further attempt follows.
    pub(super) has_sent: bool,
}

/// An attempt at a request.
#[derive(Debug)]
pub(super) struct ChatAttempt<'a> {
    pub(super) client: &'a Client,
    /// The HTTP client that connects to the provider.
    pub(super) http: &'a reqwest::Client,
    pub(super) model: &'a ModelIden,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) context: ErrorContext<'a>,
    pub(super) stream_end: StreamEndRule,
    /// Maximum size of the reply in bytes.
    pub(super) max_bytes: usize,
}

impl ChunkSink {
    pub(super) fn new(chunks: UnboundedSender<Result<ReplyChunk, ModelError>>) -> Self {
        Self {
            chunks,
            has_sent: false,
        }
    }

    /// Passes a chunk on. The send fails only if the caller dropped the stream, which drops this attempt too.
    pub(super) fn send(&mut self, chunk: Result<ReplyChunk, ModelError>) {
        self.has_sent = true;
        let _ = self.chunks.unbounded_send(chunk);
    }
}

impl ChatAttempt<'_> {
    pub(super) async fn run(
        self,
        delivery: Delivery,
        sink: &mut ChunkSink,
    ) -> Result<ProviderReply, AttemptError> {
        let context = self.context;
        let max_bytes = self.max_bytes;
        let target = self.client.resolve_service_target(self.model).await;
        let mut target = target.map_err(|error| AttemptError::from_genai(error, context))?;
        let relay = Relay::open(self.http, &mut target, context, max_bytes).await?;
        let unparsed = relay.unparsed();
        let received = match delivery {
            Delivery::Whole => relay.drive(self.receive_whole(target)).await?,
            Delivery::Live => {
                let received = self.receive_stream(target, unparsed, sink);
                relay.drive(received).await?
            }
        };
        if received.is_empty() {
            return Err(AttemptError::malformed(context, "it contains no message"));
        }
        if let Some(reason) = &received.interruption {
            return Err(AttemptError::stopped(context, reason, received.reply));
        }
        // The text of a stream is bounded while it arrives, but that of a whole reply arrives at once.
        if received.reply.text.len() > max_bytes {
            return Err(AttemptError {
                usage: received.reply.usage,
                ..AttemptError::too_long(context, max_bytes, &received.reply.text)
            });
        }
        Ok(received)
    }

    async fn receive_whole(self, target: ServiceTarget) -> Result<ProviderReply, AttemptError> {
        let context = self.context;
        let response = self
            .client
            .exec_chat(target, self.chat, Some(&self.options));
        let response = match response.await {
            Ok(response) => response,
            Err(error) => {
                return parse_rejected(&error)
                    .ok_or_else(|| AttemptError::from_genai(error, context));
            }
        };
        // Some providers report an error in the body of a successful response.
        if let Some(body) = &response.captured_raw_body
            && body.get("error").is_some_and(|error| !error.is_null())
        {
            return Err(AttemptError::from_body(body, context));
        }
        Ok(ProviderReply::from_response(response))
    }

    async fn receive_stream(
        self,
        target: ServiceTarget,
        unparsed: Arc<UnparsedBytes>,
        sink: &mut ChunkSink,
    ) -> Result<ProviderReply, AttemptError> {
        let context = self.context;
        let frames = Arc::new(FrameReader {
            unparsed,
            ..FrameReader::default()
        });
        let frame_sink = Arc::clone(&frames);
        let options = self.options.with_raw_frame_sink_arc(frame_sink);
        let response = self
            .client
            .exec_chat_stream(target, self.chat, Some(&options));
        let mut events = response
            .await
            .map_err(|error| AttemptError::from_genai(error, context))?
            .stream;
        let mut text = String::new();
        let mut reasoning_bytes = 0;
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    // `genai` takes the response to a blocked prompt for an error.
                    let blocked_reply =
                        frames.take().blocked_reply().map(ProviderReply::from_reply);
                    return blocked_reply.ok_or_else(|| AttemptError::from_genai(error, context));
                }
            };
            if let ChatStreamEvent::ReasoningChunk(chunk) = &event {
                reasoning_bytes += chunk.content.len();
            }
            // Reasoning is not part of the reply, yet an endless one must be bounded as well.
            let is_too_long = text.len() + reasoning_bytes > self.max_bytes
                || frames.bytes() > self.max_bytes.saturating_mul(MAX_FRAME_OVERHEAD);
            if is_too_long {
                return Err(AttemptError::too_long(context, self.max_bytes, &text));
            }
            match event {
                ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                    text += &chunk.content;
                    sink.send(Ok(ReplyChunk::Text(chunk.content)));
                }
                ChatStreamEvent::End(end) => {
                    let reply = ProviderReply::from_stream(end, frames.take());
                    return if reply.is_complete(self.stream_end) {
                        Ok(reply)
                    } else {
                        Err(AttemptError::interrupted(context))
                    };
                }
                _ => {}
            }
        }
        Err(AttemptError::interrupted(context))
    }
}

/// Parses a response that `genai` rejected.
fn parse_rejected(error: &Error) -> Option<ProviderReply> {
    let Error::ChatResponseGeneration { response_body, .. } = error else {
        return None;
    };
    let body: &serde_json::Value = response_body;
    let mut dropped = DroppedParts::default();
    dropped.read(body);
    let reply = dropped
        .blocked_reply()
        .or_else(|| parse_with_malformed_arguments(body));
    reply.map(ProviderReply::from_reply)
}

/// Fields that [`DroppedParts`] reads. Frames without any of them are not parsed.
const FIELDS: [&str; 3] = ["refusal", "blockReason", "incomplete_details"];

/// The parts of a response that `genai` drops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DroppedParts {
    /// Text of a refusal.
    refusal: String,
    /// Reason why a content filter stopped the prompt or the reply.
    blocked: Option<String>,
    /// Input tokens of a blocked prompt.
    input_tokens: u64,
}

/// Reads the frames of a streamed response and counts their bytes.
#[derive(Debug, Default)]
struct FrameReader {
    bytes: AtomicUsize,
    unparsed: Arc<UnparsedBytes>,
    dropped: Mutex<DroppedParts>,
}

impl DroppedParts {
    /// Reads a whole response, or one frame of it.
    fn read(&mut self, body: &Json) {
        let text = |pointer: &str| body.pointer(pointer).and_then(Json::as_str);
        let pointers = ["/choices/0/message/refusal", "/choices/0/delta/refusal"];
        // Streamed refusals arrive in parts.
        for words in pointers.into_iter().filter_map(text) {
            self.refusal += words;
        }
        if text("/type") == Some("response.refusal.delta") {
            self.refusal += text("/delta").unwrap_or_default();
        }
        let output = body.get("output").and_then(Json::as_array);
        let parts = output.into_iter().flatten().filter_map(|item| {
            let parts = item.get("content")?.as_array()?;
            Some(parts.iter())
        });
        for part in parts.flatten() {
            self.refusal += part
                .get("refusal")
                .and_then(Json::as_str)
                .unwrap_or_default();
        }
        let pointers = [
            "/incomplete_details/reason",
            "/response/incomplete_details/reason",
        ];
        let mut reasons = pointers.into_iter().filter_map(text);
        let filtered = reasons.find(|reason| *reason == "content_filter");
        if let Some(reason) = text("/promptFeedback/blockReason").or(filtered) {
            self.blocked = Some(reason.to_owned());
            let tokens = body.pointer("/usageMetadata/promptTokenCount");
            self.input_tokens = tokens.and_then(Json::as_u64).unwrap_or_default();
        }
    }

    /// Fills the dropped parts into the reply.
    fn fill_in(self, reply: &mut Reply) {
        if !self.refusal.is_empty() {
            reply.finish = FinishReason::Refusal;
            if reply.text.trim().is_empty() {
                reply.text = self.refusal;
            }
        }
        if let Some(reason) = self.blocked {
            reply.finish = FinishReason::Filter(reason);
        }
    }

    /// Builds the reply to a blocked prompt, which `genai` reports as an error.
    fn blocked_reply(self) -> Option<Reply> {
        let mut reply = Reply::default();
        reply.usage.input_tokens = self.input_tokens;
        reply.finish = FinishReason::Filter(self.blocked?);
        Some(reply)
    }
}

impl FrameReader {
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn take(&self) -> DroppedParts {
        std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatFrameSink for FrameReader {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.bytes.fetch_add(frame.data.len(), Ordering::Relaxed);
        self.unparsed.reset();
        // Most frames have none of these fields and need no parsing.
        if !FIELDS.iter().any(|field| frame.data.contains(field)) {
            return;
        }
        if let Ok(body) = serde_json::from_str(frame.data) {
            let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.read(&body);
        }
    }
}

/// Parses a response in one of OpenAI's protocols with arguments that are not JSON; `genai` rejects the whole response. Such arguments
/// become text.
fn parse_with_malformed_arguments(body: &Json) -> Option<Reply> {
    let mut reply = match body.get("output").and_then(Json::as_array) {
        Some(items) => parse_items(items),
        None => parse_message(body.pointer("/choices/0/message")?),
    };
    let is_malformed = |call: &ModelCall| call.arguments.as_object().is_none();
    // Any other response was rejected for another reason.
    if !reply.calls.iter().any(is_malformed) {
        return None;
    }
    let finish = body.pointer("/choices/0/finish_reason");
    if finish
        .or_else(|| body.get("status"))
        .is_some_and(is_cut_off)
    {
        reply.finish = FinishReason::Length;
    }
    let count = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| body.pointer(name));
        found.and_then(Json::as_u64).unwrap_or_default()
    };
    reply.usage = Usage {
        input_tokens: count(["/usage/prompt_tokens", "/usage/input_tokens"]),
        cached_tokens: count([
            "/usage/prompt_tokens_details/cached_tokens",
            "/usage/input_tokens_details/cached_tokens",
        ]),
        output_tokens: count(["/usage/completion_tokens", "/usage/output_tokens"]),
        ..Usage::default()
    };
    Some(reply)
}

fn is_cut_off(finish: &Json) -> bool {
    matches!(finish.as_str(), Some("length" | "incomplete"))
}

/// Parses a message of the chat completions API.
fn parse_message(message: &Json) -> Reply {
    let mut reply = Reply::text(text(message.get("content")));
    let calls = message.get("tool_calls").and_then(Json::as_array);
    let calls = calls.into_iter().flatten();
    reply.calls = calls
        .map(|call| {
            let function = call.get("function").unwrap_or(&Json::Null);
            parse_call(call.get("id"), function)
        })
        .collect();
    reply
}

/// Parses the items of the responses API.
fn parse_items(items: &[Json]) -> Reply {
    let mut reply = Reply::default();
    for item in items {
        if item.get("type").and_then(Json::as_str) == Some("function_call") {
            reply.calls.push(parse_call(item.get("call_id"), item));
            continue;
        }
        let parts = item.get("content").and_then(Json::as_array);
        for part in parts.into_iter().flatten() {
            reply.text += &text(part.get("text"));
        }
    }
    reply
}

fn parse_call(id: Option<&Json>, function: &Json) -> ModelCall {
    let written = text(function.get("arguments"));
    let parsed = serde_json::from_str(&written).ok();
    ModelCall {
        id: text(id),
        name: text(function.get("name")),
        arguments: arguments(&parsed.unwrap_or(Json::String(written))),
    }
}

fn text(value: Option<&Json>) -> String {
    let text = value.and_then(Json::as_str);
    text.unwrap_or_default().to_owned()
}
