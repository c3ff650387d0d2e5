//! Errors of models.

use super::Usage;

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
#[non_exhaustive]
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
