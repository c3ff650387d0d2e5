//! The authors of plans: a model of the gateway, or the client as a model; and the plans that they have created.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use indexmap::IndexMap;
use planwright_core::Value;
use planwright_engine::id::random_id;
use planwright_mcp::gateway::ClientId;
use planwright_mcp::{Caller, UpstreamError};
use planwright_planner::model::{
    FinishReason, Message, Model, ModelError, ModelErrorKind, ModelRequest, Reply, ReplyChunk,
};
use serde_json::json;

/// The maximum number of created plans that are stored for one client.
const MAX_PLANS_PER_CLIENT: usize = 64;

/// The author of plans.
#[derive(Clone)]
pub enum PlanWriter {
    /// A model of the gateway.
    Model(Arc<dyn Model>),
    /// The client itself, if it supports sampling.
    Client,
}

impl fmt::Debug for PlanWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => f.debug_tuple("PlanWriter").field(&model.name()).finish(),
            Self::Client => f.write_str("Client"),
        }
    }
}

/// The created plans of each client, which only that client can use.
#[derive(Debug, Default)]
pub(crate) struct CreatedPlans(Mutex<HashMap<ClientId, PlanTexts>>);

/// Texts of plans by id.
type PlanTexts = IndexMap<Arc<str>, Arc<str>>;

impl CreatedPlans {
    /// Stores the text of a plan and returns its id.
    pub(super) fn insert(&self, client: &ClientId, text: &str) -> Arc<str> {
        let id = random_id();
        let mut all = self.lock();
        let plans = all.entry(client.clone()).or_default();
        if plans.len() == MAX_PLANS_PER_CLIENT {
            plans.shift_remove_index(0);
        }
        plans.insert(Arc::clone(&id), text.into());
        id
    }

    /// Returns the text of a plan of this client.
    pub(crate) fn get(&self, client: &ClientId, id: &str) -> Option<Arc<str>> {
        self.lock().get(client)?.get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, PlanTexts>> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The `maxTokens` of requests that set none: the protocol requires the field.
const MAX_TOKENS: u32 = 4096;

/// A client as a model.
pub(crate) struct ClientModel {
    caller: Arc<dyn Caller>,
}

impl ClientModel {
    /// Creates a model that samples through the client of `caller`.
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
                .map_err(|error| sampling_error(&error))
                .and_then(|answer| read_reply(&answer))
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

fn read_reply(answer: &Value) -> Result<ReplyChunk, ModelError> {
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
            "the client's model replied without text",
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

fn sampling_error(error: &UpstreamError) -> ModelError {
    let message = format!("the client's model did not answer: {}", error.message);
    ModelError::new(ModelErrorKind::Refused, message)
}
