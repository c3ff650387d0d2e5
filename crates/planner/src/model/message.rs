//! What is said in a conversation with a model.

use planwright_core::Value;

use super::{ModelError, ModelErrorKind, Usage};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// We say something.
    User(String),
    /// The model said something, or wanted tools to be called, or both.
    Assistant {
        /// Its words.
        text: String,
        /// What it wanted to be called.
        calls: Vec<ModelCall>,
    },
    /// What came of a call.
    ToolResult {
        /// Which call, by its id.
        call: String,
        /// What came of it.
        text: String,
    },
}

/// A tool that a model wants to be called, outside of any plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// Tells it from other calls of the conversation.
    pub id: String,
    /// The tool, by the name that the model was offered it under.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
}

/// The whole of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The words, all in one.
    pub text: String,
    /// What it wants to be called.
    pub calls: Vec<ModelCall>,
    /// What it has cost, failed attempts included.
    pub usage: Usage,
    /// Why it ends where it ends.
    pub finish: Finish,
}

/// Why an answer ends where it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model said all that it wanted to say.
    #[default]
    Complete,
    /// The answer reached its greatest length.
    Length,
    /// The model declined to answer.
    Refusal,
    /// A filter of the provider stopped the answer, for this reason in the provider's word.
    Filter(String),
}

impl Reply {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The answer, if it is a whole one: words or calls of tools, up to the end.
    ///
    /// # Errors
    ///
    /// The kinds [`CutOff`](ModelErrorKind::CutOff), [`Declined`](ModelErrorKind::Declined) and
    /// [`Empty`](ModelErrorKind::Empty), with the model's own words.
    pub fn completed(self, model: &str) -> Result<Self, ModelError> {
        let (kind, message, help) = match &self.finish {
            Finish::Complete if !self.text.trim().is_empty() || !self.calls.is_empty() => {
                return Ok(self);
            }
            Finish::Complete => (
                ModelErrorKind::Empty,
                format!("`{model}` said nothing"),
                "ask in other words, or ask another model",
            ),
            Finish::Length => (
                ModelErrorKind::CutOff,
                format!("the answer of `{model}` was cut off at its greatest length"),
                "allow longer answers with `model.max_tokens`, or ask for less",
            ),
            Finish::Refusal => (
                ModelErrorKind::Declined,
                format!("`{model}` declined to answer"),
                "ask in other words, or ask another model",
            ),
            Finish::Filter(reason) => (
                ModelErrorKind::Declined,
                format!("a filter of its provider stopped the answer of `{model}` ({reason})"),
                "ask in other words, or ask another model",
            ),
        };
        let error = ModelError::new(kind, message).help(help);
        Err(error.with_words(&self.text).after(self.usage))
    }

    /// The same for a question that offered no tools: calls are no answer to it.
    ///
    /// # Errors
    ///
    /// Those of [`completed`](Self::completed).
    pub fn completed_in_words(mut self, model: &str) -> Result<Self, ModelError> {
        self.calls.clear();
        self.completed(model)
    }

    /// The same for a question that is asked again, with less to answer, after an answer that was cut off: that one is given with its failure.
    pub(crate) fn completed_or_cut(
        self,
        model: &str,
    ) -> Result<(Self, Option<ModelError>), ModelError> {
        match self.clone().completed_in_words(model) {
            Ok(_) => Ok((self, None)),
            Err(error) if error.kind == ModelErrorKind::CutOff => Ok((self, Some(error))),
            Err(error) => Err(error),
        }
    }

    /// The message that this answer is in a conversation that goes on.
    pub fn message(&self) -> Message {
        Message::Assistant {
            text: self.text.clone(),
            calls: self.calls.clone(),
        }
    }
}
