//! What a model is asked.

use std::sync::Arc;

use planwright_core::Value;

use super::Message;

/// A question, with all that was said before.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Who the model is to be, and what it has to know.
    pub system: Arc<str>,
    /// What was said, the latest last.
    pub messages: Vec<Message>,
    /// What it may want to be called.
    pub tools: Vec<ToolOffer>,
    /// The form that its words must have, where the provider can see to that.
    pub answer: Option<AnswerSchema>,
    /// Between 0, the same answer each time, and 1 or 2.
    pub temperature: f64,
    /// The most tokens that it may answer with.
    pub max_tokens: Option<u32>,
    /// How the answer is wanted.
    pub delivery: Delivery,
}

/// A tool as a model is offered it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOffer {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON Schema of its parameters.
    pub parameters: Value,
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerSchema {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON Schema.
    pub schema: Value,
}

/// How an answer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// All at once.
    #[default]
    Whole,
    /// Piece by piece, as it is written.
    Live,
}

/// A little freedom, and nearly always the same answer.
pub const TEMPERATURE: f64 = 0.1;

impl ModelRequest {
    /// One question.
    pub fn new(system: impl Into<Arc<str>>, messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            system: system.into(),
            messages: messages.into_iter().collect(),
            tools: Vec::new(),
            answer: None,
            temperature: TEMPERATURE,
            max_tokens: None,
            delivery: Delivery::Whole,
        }
    }
}
