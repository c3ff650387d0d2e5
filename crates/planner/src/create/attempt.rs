//! Asking for a plan, again with everything that was wrong, until it is sound or the tries are used up.

use std::num::NonZeroU32;

use planwright_core::{CheckContext, CheckedPlan, Diagnostics};

use super::extract::declined;
use super::meta::Origin;
use super::reading::{Answered, read};
use super::repair::Repair;
use crate::model::{
    Declined, Message, Model, ModelError, ModelErrorKind, ModelRequest, Reply, TEMPERATURE, Usage,
    answer, words_within,
};
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
    /// What the model said in place of a plan. It is not asked again then.
    pub declined: Option<Declined>,
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
    /// Whether a plan was found in it, sound or not.
    pub holds_plan: bool,
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
            || self.created.declined.is_some()
            || self.seen.len() >= settings.tries.get() as usize;
        (!is_over).then(|| request(self.creation, &self.messages))
    }

    /// Takes in what the model answers.
    pub(crate) fn take(&mut self, answer: Result<Reply, ModelError>) {
        let model = self.creation.model.name();
        let answer = answer.and_then(|reply| reply.completed_or_cut(model));
        let (reply, cut_off) = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.created.usage += error.usage;
                self.created.failure = Some(error);
                return;
            }
        };
        self.created.usage += reply.usage;
        if cut_off.is_none()
            && let Some(words) = declined(&reply.text)
        {
            self.created.declined = Some(words);
            self.created.attempts.push(Attempt::new(reply.text));
            return;
        }
        let Answered {
            plan,
            notation,
            written,
            diagnostics,
            repairs,
        } = read(&reply, self.creation);
        let most = self.creation.settings.reply_bytes;
        self.messages.push(Message::Assistant {
            text: said(&reply.text, written.as_deref(), most),
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
        let is_last = self.seen.len() + 1 >= self.creation.settings.tries.get() as usize;
        let is_talk = written.is_none() && matches!(self.seen.last(), Some(None));
        self.created.failure = match cut_off {
            Some(error) => Some(error).filter(|_| is_last && plan.is_none()),
            None if is_talk => Some(only_words(model, &reply.text)),
            None => None,
        };
        self.created.attempts.push(Attempt {
            holds_plan: written.is_some(),
            diagnostics,
            repairs,
            ..Attempt::new(reply.text)
        });
        self.seen.push(written);
        self.created.plan = plan;
    }
}

impl Attempt {
    /// The words of an answer without a plan, as far as anybody wants to read them.
    pub fn words(&self) -> &str {
        words_within(self.reply.trim(), MAX_REPEATED)
    }

    pub(crate) fn new(reply: String) -> Self {
        Self {
            reply,
            holds_plan: false,
            diagnostics: Diagnostics::new(),
            repairs: Vec::new(),
        }
    }
}

/// The failure of a model that answers in words, though it was told once that a plan is wanted.
pub(crate) fn only_words(model: &str, words: &str) -> ModelError {
    let message = format!("`{model}` writes no plan, but answers in words");
    ModelError::new(ModelErrorKind::Declined, message)
        .help("ask in other words, or ask another model")
        .with_words(words)
}

fn request(creation: &Creation<'_>, messages: &[Message]) -> ModelRequest {
    let settings = creation.settings;
    ModelRequest {
        answer: settings.notation.plan_form(creation.task.catalog),
        temperature: settings.temperature,
        max_tokens: settings.max_tokens,
        ..ModelRequest::new(settings.notation.writing(), messages.iter().cloned())
    }
}

/// The most bytes of an answer without a plan that the model hears again.
const MAX_REPEATED: usize = 2048;

/// An answer as the model hears it again: the plan alone, of at most `most` bytes, if there is one. Providers take no message without words.
pub(crate) fn said(reply: &str, written: Option<&str>, most: usize) -> String {
    let text = match written {
        Some(plan) => words_within(plan, most),
        None => words_within(reply.trim(), MAX_REPEATED),
    };
    match text {
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
