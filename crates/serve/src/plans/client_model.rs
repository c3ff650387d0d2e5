//! A client that samples for servers, as a model: `sampling/createMessage`.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use planwright_core::Value;
use planwright_mcp::{Caller, UpstreamError};
use planwright_planner::model::{
    FinishReason, Message, Model, ModelError, ModelErrorKind, ModelRequest, Reply, ReplyChunk,
};
use serde_json::json;

/// The `maxTokens` of requests that set none: the protocol requires the field.
const MAX_TOKENS: u32 = 4096;

/// A client as a model.
pub(crate) struct ClientModel {
    caller: Arc<dyn Caller>,
}

impl ClientModel {
    /// A model behind `caller`: the client that samples.
    pub(crate) fn new(caller: Arc<dyn Caller>) -> Self {
        Self { caller }
    }
}

impl Model for ClientModel {
    fn name(&self) -> &'static str {
        "client"
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let caller = Arc::clone(&self.caller);
        let asked = async move {
            let params = params(&request);
            let answer = caller.ask("sampling/createMessage", params).await;
            answer
                .map_err(|error| refused(&error))
                .and_then(|answer| read(&answer))
        };
        stream::once(asked).boxed()
    }
}

fn params(request: &ModelRequest) -> Value {
    let messages = request.messages.iter().map(|message| {
        let (role, text) = match message {
            Message::Assistant { text, .. } => ("assistant", text),
            Message::User(text) | Message::ToolResult { text, .. } => ("user", text),
        };
        json!({"role": role, "content": {"type": "text", "text": text}})
    });
    Value::from(json!({
        "messages": messages.collect::<Vec<_>>(),
        "systemPrompt": &*request.system,
        "maxTokens": request.max_tokens.unwrap_or(MAX_TOKENS),
        "temperature": request.temperature,
    }))
}

fn read(answer: &Value) -> Result<ReplyChunk, ModelError> {
    let content = answer.get("content");
    // Newer revisions have several blocks.
    let blocks = content.and_then(Value::as_list).map_or_else(
        || content.into_iter().collect(),
        |blocks| blocks.iter().collect::<Vec<_>>(),
    );
    let texts = blocks
        .iter()
        .filter_map(|block| block.get("text")?.as_text());
    let text: String = texts.collect();
    if text.is_empty() {
        return Err(ModelError::new(
            ModelErrorKind::Malformed,
            "the client's model answered without words",
        ));
    }
    let mut reply = Reply::text(text);
    reply.usage.requests = 1;
    reply.finish = match answer.get("stopReason").and_then(Value::as_text) {
        Some("maxTokens") => FinishReason::Length,
        Some("refusal") => FinishReason::Refusal,
        _ => FinishReason::Complete,
    };
    Ok(ReplyChunk::Done(reply))
}

fn refused(error: &UpstreamError) -> ModelError {
    let message = format!("the client's model did not answer: {}", error.message);
    ModelError::new(ModelErrorKind::Refused, message)
}
