//! The interface to language models: requests, streamed replies with their cost, and errors.

use std::ops::AddAssign;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use planwright_core::Value;
use serde_json::Value as Json;

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
    // The chunks of text are in the whole reply as well.
    while let Some(chunk) = chunks.next().await {
        if let ReplyChunk::Done(reply) = chunk? {
            return Ok(reply);
        }
    }
    Err(ModelError::interrupted(model.name()))
}

/// Maximum bytes of the model's own text in an error.
const MAX_QUOTED_BYTES: usize = 2000;

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
    /// The part of the model's text that arrived; may be empty.
    pub reply: Box<str>,
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
            reply: Box::default(),
            usage: Usage::default(),
        }
    }

    pub(super) fn configuration(message: impl Into<String>) -> Self {
        Self::new(ModelErrorKind::Configuration, message)
    }

    /// Creates the error for a reply of `model` that ended early.
    pub fn interrupted(model: &str) -> Self {
        let message = format!("the reply of `{model}` was interrupted");
        Self::new(ModelErrorKind::Interrupted, message)
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the model's text, cut to a few lines.
    #[must_use]
    pub fn with_words(mut self, words: &str) -> Self {
        self.reply = prefix_within(words.trim(), MAX_QUOTED_BYTES).into();
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
    /// True if further requests begin with the same system prompt and tools, so that the provider may cache them.
    pub is_prefix_shared: bool,
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
            is_prefix_shared: false,
        }
    }
}

/// A complete reply.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The whole text.
    pub text: String,
    /// The requested tool calls.
    pub calls: Vec<ModelCall>,
    /// Tokens and cost, including failed attempts.
    pub usage: Usage,
    /// The reason why the reply ended.
    pub finish: FinishReason,
}

/// The reason why a reply ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished its reply.
    #[default]
    Complete,
    /// The reply reached its maximum length.
    Length,
    /// The model declined to answer.
    Refusal,
    /// A content filter of the provider stopped the reply, with the provider's reason.
    Filter(String),
}

/// Tokens and cost of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// Requests sent, including failed ones.
    pub requests: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Input tokens that the provider read from its cache.
    pub cached_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Cost in US dollars, if prices are known.
    pub cost: Option<f64>,
}

impl Reply {
    /// Creates a reply of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Returns the reply if it is complete and not empty.
    ///
    /// # Errors
    ///
    /// [`CutOff`](ModelErrorKind::CutOff), [`Declined`](ModelErrorKind::Declined) or [`Empty`](ModelErrorKind::Empty), with the
    /// model's text.
    pub fn completed(self, model: &str) -> Result<Self, ModelError> {
        let (kind, message, help) = match &self.finish {
            // Calls alone are a reply, too.
            FinishReason::Complete if !self.text.trim().is_empty() || !self.calls.is_empty() => {
                return Ok(self);
            }
            FinishReason::Complete => (
                ModelErrorKind::Empty,
                format!("the reply of `{model}` is empty"),
                "ask in other words, or ask another model",
            ),
            FinishReason::Length => (
                ModelErrorKind::CutOff,
                format!("the reply of `{model}` reached the maximum length"),
                "allow longer answers with `model.max_tokens`, or ask for less",
            ),
            FinishReason::Refusal => (
                ModelErrorKind::Declined,
                format!("`{model}` declined to answer"),
                "ask in other words, or ask another model",
            ),
            FinishReason::Filter(reason) => (
                ModelErrorKind::Declined,
                format!("a filter of its provider stopped the reply of `{model}` ({reason})"),
                "ask in other words, or ask another model",
            ),
        };
        let error = ModelError::new(kind, message).help(help);
        Err(error.with_words(&self.text).with_usage(self.usage))
    }

    /// Like [`completed`](Self::completed), for a request that offered no tools: tool calls do not count as a reply.
    ///
    /// # Errors
    ///
    /// The errors of [`completed`](Self::completed).
    pub fn completed_text(mut self, model: &str) -> Result<Self, ModelError> {
        self.calls.clear();
        self.completed(model)
    }

    /// Like [`completed_text`](Self::completed_text), but returns a reply that was cut off together with its error, for callers
    /// that ask again for a shorter one.
    pub(crate) fn completed_or_cut_off(
        self,
        model: &str,
    ) -> Result<(Self, Option<ModelError>), ModelError> {
        match self.clone().completed_text(model) {
            Ok(_) => Ok((self, None)),
            Err(error) if error.kind == ModelErrorKind::CutOff => Ok((self, Some(error))),
            Err(error) => Err(error),
        }
    }

    /// Returns the reply as a message of the ongoing conversation.
    pub fn message(&self) -> Message {
        Message::Assistant {
            text: self.text.clone(),
            calls: self.calls.clone(),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.input_tokens += more.input_tokens;
        self.cached_tokens += more.cached_tokens;
        self.output_tokens += more.output_tokens;
        self.cost = match (self.cost, more.cost) {
            (Some(so_far), Some(more)) => Some(so_far + more),
            // A sum without the unknown costs is a lower bound, which is more useful than no cost.
            (known, None) | (None, known) => known,
        };
    }
}

/// The reason why a model declined a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclineReason {
    /// The task is impossible: `{"cannot": "why"}`.
    Cannot(String),
    /// The model needs information from the user: `{"ask": "question"}`.
    Asks(String),
}

impl DeclineReason {
    /// Returns the model's words.
    pub fn words(&self) -> &str {
        match self {
            Self::Cannot(words) | Self::Asks(words) => words,
        }
    }

    /// Returns the JSON field that holds the words, `cannot` or `ask`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Cannot(_) => "cannot",
            Self::Asks(_) => "ask",
        }
    }

    /// Parses the object that a model replied with.
    pub(crate) fn parse(answer: &Json) -> Option<Self> {
        let words = |field: &str| {
            let words = answer.get(field)?.as_str()?.trim();
            (!words.is_empty()).then(|| words.to_owned())
        };
        // `cannot` comes first: if the task is impossible, an answer to the question would not help.
        let cannot = words("cannot").map(Self::Cannot);
        cannot.or_else(|| words("ask").map(Self::Asks))
    }
}

impl std::fmt::Display for DeclineReason {
    /// Writes a clause that continues a sentence about the model.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cannot(words) => write!(f, "says that it cannot: {words}"),
            Self::Asks(words) => write!(f, "asks: {words}"),
        }
    }
}
