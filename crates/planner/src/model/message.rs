//! What is said in a conversation with a model.

use planwright_core::Value;

use super::Usage;

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
    /// Whether it was cut off for its length.
    pub is_cut_off: bool,
}

impl Reply {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
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
