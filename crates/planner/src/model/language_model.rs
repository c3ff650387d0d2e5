//! The interface to language models: requests, streamed replies, and errors.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use planwright_core::Value;

use super::Usage;
use super::reply::Reply;

/// A language model that answers requests.
pub trait Model: Send + Sync + 'static {
    /// Returns the name as users write it, `provider:name`.
    fn name(&self) -> &str;

    /// Sends a request. With [`Delivery::Live`] the reply arrives in chunks before it arrives as a whole. Dropping the stream cancels
    /// the request.
    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        (**self).ask(request)
    }
}

/// A part of a streamed reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyChunk {
    /// The next part of the text.
    Text(String),
    /// The complete reply. Nothing follows it.
    Done(Reply),
}

/// Sends `request` to `model` and waits for the complete reply.
///
/// # Errors
///
/// The model's own errors, and [`ModelErrorKind::Interrupted`] if the reply ends early.
pub async fn answer(model: &dyn Model, request: ModelRequest) -> Result<Reply, ModelError> {
    let mut chunks = model.ask(request);
    while let Some(chunk) = chunks.next().await {
        if let ReplyChunk::Done(reply) = chunk? {
            return Ok(reply);
        }
    }
    Err(ModelError::interrupted(model.name()))
}

/// Maximum bytes of the model's own text in an error.
const MAX_SAID_BYTES: usize = 2000;

/// The error of a model request after all attempts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// The failure, as one clause.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
    /// The model's own text as far as it arrived; may be empty.
    pub said: Box<str>,
    /// Tokens and cost of the failed request.
    pub usage: Usage,
}

/// The kind of a model error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The provider is unknown, or a setting that it needs is missing.
    Configuration,
    /// The provider rejects the key, or the key lacks permission.
    Key,
    /// The provider rejects the request: unknown model, too long, not allowed.
    Refused,
    /// Too many requests, or no credit left.
    Limited,
    /// The provider could not be reached or failed internally.
    Unavailable,
    /// No reply in time.
    Timeout,
    /// The response does not follow the provider's protocol.
    Malformed,
    /// The reply ended early.
    Interrupted,
    /// The reply was cut off at its maximum length.
    CutOff,
    /// The model declined to answer, or a content filter stopped the reply.
    Declined,
    /// The reply is empty.
    Empty,
    /// The script has no further replies.
    Ended,
}

impl ModelError {
    /// Creates an error from one clause.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
            said: Box::default(),
            usage: Usage::default(),
        }
    }

    pub(super) fn configuration(message: impl Into<String>) -> Self {
        Self::new(ModelErrorKind::Configuration, message)
    }

    /// Creates the error for a reply of `model` that ended early.
    pub fn interrupted(model: &str) -> Self {
        let message = format!("the answer of `{model}` broke off");
        Self::new(ModelErrorKind::Interrupted, message)
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the model's own text, cut to a few lines.
    #[must_use]
    pub fn with_words(mut self, words: &str) -> Self {
        self.said = prefix_within(words.trim(), MAX_SAID_BYTES).into();
        self
    }

    /// Sets the tokens and cost.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// Cuts a text for a prompt to about `max_tokens` tokens.
pub(crate) fn excerpt(text: &str, max_tokens: usize) -> String {
    // A token has about four bytes.
    let beginning = prefix_within(text, max_tokens * 4);
    if beginning.len() == text.len() {
        return text.to_owned();
    }
    format!("{beginning} … ({} bytes in all, cut here)", text.len())
}

/// Returns the longest prefix of `text` of at most `max_bytes` bytes that ends at a character boundary.
pub(crate) fn prefix_within(text: &str, max_bytes: usize) -> &str {
    let mut ends = (0..=max_bytes.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

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
