//! Asking for a plan, again with everything that was wrong, until it is sound or the tries are used up.

use std::num::NonZeroU32;

use planwright_core::{CheckContext, CheckedPlan, Diagnostics};

use super::meta::Origin;
use super::reading::{Answered, read};
use super::repair::Repair;
use crate::model::{Message, Model, ModelError, ModelRequest, Reply, TEMPERATURE, Usage, answer};
use crate::prompt::{Notation, Task, feedback, feedback_in_lines};

/// A plan that is to be created.
#[derive(Clone, Copy)]
pub struct Creation<'a> {
    /// Who writes it.
    pub model: &'a dyn Model,
    /// What is wanted.
    pub task: Task<'a>,
    /// What the plan is checked against.
    pub check: CheckContext<'a>,
    /// What is noted down in the plan.
    pub origin: Origin<'a>,
    /// How it is gone about.
    pub settings: &'a CreateSettings,
}

/// How a plan is created.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CreateSettings {
    /// In what the model writes.
    pub notation: Notation,
    /// How often the model is asked, in all.
    pub tries: NonZeroU32,
    /// How many tokens are spent on telling of tools.
    pub tool_tokens: usize,
    /// How many tokens are spent on what is remembered.
    pub memory_tokens: usize,
    /// How large an answer is looked at, in bytes.
    pub reply_bytes: usize,
    /// How free the model is.
    pub temperature: f64,
    /// The most tokens that it may answer with.
    pub max_tokens: Option<u32>,
}

impl Default for CreateSettings {
    fn default() -> Self {
        Self {
            notation: Notation::default(),
            tries: NonZeroU32::MIN.saturating_add(2),
            tool_tokens: 6000,
            memory_tokens: 1000,
            reply_bytes: 256 * 1024,
            temperature: TEMPERATURE,
            max_tokens: None,
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Created {
    /// The plan, where there is a sound one.
    pub plan: Option<CreatedPlan>,
    /// Every answer of the model, in order.
    pub attempts: Vec<Attempt>,
    /// Why the model did not answer, where it did not.
    pub failure: Option<ModelError>,
    /// What it has cost.
    pub usage: Usage,
}

/// A sound plan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreatedPlan {
    /// Its text, in Planwright's own dialect.
    pub text: String,
    /// The plan as `check` has proven it.
    pub checked: CheckedPlan,
}

/// One answer of the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// What it said.
    pub reply: String,
    /// What was found about it, after the repairs.
    pub diagnostics: Diagnostics,
    /// What was mended without asking.
    pub repairs: Vec<Repair>,
}

/// Asks for a plan. It is there in the end, or the last attempt says why not.
pub async fn create(creation: &Creation<'_>) -> Created {
    let mut dialogue = Dialogue::new(creation);
    while let Some(request) = dialogue.request() {
        let answer = answer(creation.model, request).await;
        dialogue.take(answer);
    }
    dialogue.created
}

/// What was said so far about a plan that is to be created.
#[derive(Debug)]
pub(crate) struct Dialogue<'a> {
    creation: &'a Creation<'a>,
    messages: Vec<Message>,
    /// The plans that were answered.
    seen: Vec<Option<String>>,
    /// What came of it so far.
    pub(crate) created: Created,
}

impl<'a> Dialogue<'a> {
    pub(crate) fn new(creation: &'a Creation<'a>) -> Self {
        let settings = creation.settings;
        let text = creation.task.text(
            settings.tool_tokens,
            settings.memory_tokens,
            settings.notation,
        );
        Self {
            creation,
            messages: vec![Message::User(text)],
            seen: Vec::new(),
            created: Created::default(),
        }
    }

    /// What the model is asked next; nothing once there is a plan, or no further try.
    pub(crate) fn request(&self) -> Option<ModelRequest> {
        let settings = self.creation.settings;
        let is_over = self.created.plan.is_some()
            || self.created.failure.is_some()
            || self.seen.len() >= settings.tries.get() as usize;
        (!is_over).then(|| request(settings, &self.messages))
    }

    /// Takes in what the model answers.
    pub(crate) fn take(&mut self, answer: Result<Reply, ModelError>) {
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => {
                self.created.usage += error.usage;
                self.created.failure = Some(error);
                return;
            }
        };
        self.created.usage += reply.usage;
        let Answered {
            plan,
            notation,
            written,
            diagnostics,
            repairs,
        } = read(&reply, self.creation);
        let most = self.creation.settings.reply_bytes;
        self.messages.push(Message::Assistant {
            text: said(&reply, written.as_deref(), most),
            calls: Vec::new(),
        });
        let is_repeated = self.seen.contains(&written);
        let found = match notation {
            Notation::Json => feedback(&diagnostics, is_repeated),
            Notation::Lines => {
                let text = written.as_deref().unwrap_or_default();
                feedback_in_lines(&diagnostics, text, is_repeated)
            }
        };
        self.messages.push(Message::User(found));
        self.seen.push(written);
        self.created.attempts.push(Attempt {
            reply: reply.text,
            diagnostics,
            repairs,
        });
        self.created.plan = plan;
    }
}

fn request(settings: &CreateSettings, messages: &[Message]) -> ModelRequest {
    ModelRequest {
        answer: settings.notation.answer_schema(),
        temperature: settings.temperature,
        max_tokens: settings.max_tokens,
        ..ModelRequest::new(settings.notation.writing(), messages.iter().cloned())
    }
}

/// An answer as the model hears it again: the plan alone, as far as there is one. Providers take no message without words.
fn said(reply: &Reply, written: Option<&str>, most: usize) -> String {
    let text = written.unwrap_or(reply.text.trim());
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    match &text[..end.unwrap_or(0)] {
        "" => "(nothing)".to_owned(),
        text => text.to_owned(),
    }
}

impl std::fmt::Debug for Creation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Creation")
            .field("model", &self.model.name())
            .field("goal", &self.task.goal)
            .finish_non_exhaustive()
    }
}
