//! Requests to models and the messages in them.

use std::sync::Arc;

use planwright_core::Value;

/// A request to a model, with the conversation so far.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// Tools the model may call.
    pub tools: Vec<ToolDefinition>,
    /// JSON Schema of the reply, enforced if the provider supports it.
    pub answer: Option<AnswerSchema>,
    /// Sampling temperature, from 0 to 1 or 2 depending on the provider.
    pub temperature: f64,
    /// Maximum number of output tokens.
    pub max_tokens: Option<u32>,
    /// Delivery of the reply: as a whole, or streamed.
    pub delivery: Delivery,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// Text from the user.
    User(String),
    /// Text, tool calls, or both, from the model.
    Assistant {
        /// The text.
        text: String,
        /// The requested tool calls.
        calls: Vec<ModelCall>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The result as text.
        text: String,
    },
}

/// A tool call that a model requests outside of any plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// Id of the call, unique within the conversation.
    pub id: String,
    /// Tool name, as offered to the model.
    pub name: String,
    /// Arguments of the call.
    pub arguments: Value,
}

/// A tool as offered to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// Tool name: letters, digits, `_` and `-`.
    pub name: String,
    /// Description of the tool.
    pub description: String,
    /// JSON Schema of the parameters.
    pub parameters: Value,
}

/// The JSON Schema of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerSchema {
    /// Schema name: letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON Schema.
    pub schema: Value,
}

/// The way a reply arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// All at once.
    #[default]
    Whole,
    /// In chunks, as the model writes it.
    Live,
}

/// Default temperature: low, so that replies nearly repeat from one request to the next.
pub const DEFAULT_TEMPERATURE: f64 = 0.1;

impl ModelRequest {
    /// Creates a request without tools, with the default temperature and whole delivery.
    pub fn new(system: impl Into<Arc<str>>, messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            system: system.into(),
            messages: messages.into_iter().collect(),
            tools: Vec::new(),
            answer: None,
            temperature: DEFAULT_TEMPERATURE,
            max_tokens: None,
            delivery: Delivery::Whole,
        }
    }
}
