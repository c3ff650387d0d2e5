//! Why a model did not answer.

use super::Usage;

/// The most bytes of a model's words that a failure repeats.
const MAX_SAID: usize = 2000;

/// Why a model did not answer, after all attempts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// One clause: what failed.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The model's own words, as far as there are any; empty if there are none.
    pub said: Box<str>,
    /// What it has cost all the same.
    pub usage: Usage,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// There is no such provider, or what it needs to know was not said.
    Configuration,
    /// The provider knows no such key, or does not let it do this.
    Key,
    /// The provider takes no such request: no such model, too long, not allowed.
    Refused,
    /// Too many requests, or no money left.
    Limited,
    /// It could not be reached, or had a failure of its own.
    Unavailable,
    /// No answer in time.
    Timeout,
    /// What came is no answer of the provider's protocol.
    Malformed,
    /// The answer broke off before its end.
    Interrupted,
    /// The answer was cut off at its greatest length.
    CutOff,
    /// The model declined to answer, or a filter of its provider stopped the answer.
    Declined,
    /// The answer holds nothing.
    Empty,
    /// A script has no further answer.
    Ended,
}

impl ModelError {
    /// A failure, as one clause.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
            said: Box::default(),
            usage: Usage::default(),
        }
    }

    /// An answer of `model` that ends in the middle.
    pub fn broken_off(model: &str) -> Self {
        let message = format!("the answer of `{model}` broke off");
        Self::new(ModelErrorKind::Interrupted, message)
    }

    /// The same failure, with what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same failure, with the words that the model has said, cut to a few lines.
    #[must_use]
    pub fn with_words(mut self, words: &str) -> Self {
        self.said = words_within(words.trim(), MAX_SAID).into();
        self
    }

    /// The same failure, with what it has cost.
    #[must_use]
    pub fn after(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// The beginning of `text` that takes at most `most` bytes.
pub(crate) fn words_within(text: &str, most: usize) -> &str {
    let mut ends = (0..=most.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
