//! A single attempt at a request.

use std::sync::Arc;

use futures::StreamExt;
use futures_channel::mpsc::UnboundedSender;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::{Client, Error, ModelIden};
use serde_json::Value;

use super::super::{Delivery, ModelError, ReplyChunk};
use super::attempt_error::{AttemptError, ErrorContext};
use super::dropped_parts::{DroppedParts, FrameReader, parse_with_malformed_arguments};
use super::provider_reply::ProviderReply;

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
    pub(super) model: &'a ModelIden,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) context: ErrorContext<'a>,
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
        let received = match delivery {
            Delivery::Whole => self.receive_whole().await?,
            Delivery::Live => self.receive_stream(sink).await?,
        };
        if received.is_empty() {
            return Err(AttemptError::malformed(context, "it holds no answer"));
        }
        if received.is_interrupted {
            return Err(AttemptError::interrupted(context));
        }
        if received.reply.text.len() > max_bytes {
            return Err(AttemptError::too_long(
                context,
                max_bytes,
                &received.reply.text,
            ));
        }
        Ok(received)
    }

    async fn receive_whole(self) -> Result<ProviderReply, AttemptError> {
        let context = self.context;
        let response = self
            .client
            .exec_chat(self.model, self.chat, Some(&self.options));
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

    async fn receive_stream(self, sink: &mut ChunkSink) -> Result<ProviderReply, AttemptError> {
        let context = self.context;
        let frames = Arc::new(FrameReader::default());
        let frame_sink = Arc::clone(&frames);
        let options = self.options.with_raw_frame_sink_arc(frame_sink);
        let response = self
            .client
            .exec_chat_stream(self.model, self.chat, Some(&options));
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
                    return if is_complete(&reply, self.model.adapter_kind) {
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
    let body: &Value = response_body;
    let mut dropped = DroppedParts::default();
    dropped.read(body);
    let reply = dropped
        .blocked_reply()
        .or_else(|| parse_with_malformed_arguments(body));
    reply.map(ProviderReply::from_reply)
}

/// Returns whether a streamed reply is complete. For some protocols `genai` reports an end whenever the stream ends, so a genuine end must
/// show by its fields.
fn is_complete(reply: &ProviderReply, kind: AdapterKind) -> bool {
    match kind {
        AdapterKind::Gemini | AdapterKind::GeminiIx => reply.has_end,
        AdapterKind::Ollama | AdapterKind::OllamaCloud => reply.has_end || reply.has_usage,
        _ => true,
    }
}
