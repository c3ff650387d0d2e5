//! Replies of models, and what they cost.

use std::ops::AddAssign;

use serde_json::Value as Json;

use super::{Message, ModelCall, ModelError, ModelErrorKind};

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
                format!("`{model}` said nothing"),
                "ask in other words, or ask another model",
            ),
            FinishReason::Length => (
                ModelErrorKind::CutOff,
                format!("the answer of `{model}` was cut off at its greatest length"),
                "allow longer answers with `model.max_tokens`, or ask for less",
            ),
            FinishReason::Refusal => (
                ModelErrorKind::Declined,
                format!("`{model}` declined to answer"),
                "ask in other words, or ask another model",
            ),
            FinishReason::Filter(reason) => (
                ModelErrorKind::Declined,
                format!("a filter of its provider stopped the answer of `{model}` ({reason})"),
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
            (known, None) | (None, known) => known,
        };
    }
}

/// The reason why a model declined, given in place of what was requested.
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
