//! The conversation about a plan: the request is repeated with all errors until the plan is valid or the tries are used up.

use planwright_core::Diagnostics;
use planwright_dialects::native::PlanDialect;

use super::evaluate::{PlanEvaluation, evaluate};
use super::repair::{PlanRepair, parse_decline};
use super::request::{CreatedPlan, PlanRequest};
use crate::model::{
    DeclineReason, Message, ModelError, ModelErrorKind, ModelRequest, Reply, Usage, answer,
    prefix_within,
};
use crate::prompt::{PlanPrompt, enforced_schema, feedback, lines_feedback};

/// Maximum bytes of a reply without a plan that are shown or sent back to the model.
const MAX_PROSE_BYTES: usize = 2048;

/// The outcome of plan creation.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct PlanResponse {
    /// The plan, if there is a valid one.
    pub plan: Option<CreatedPlan>,
    /// All replies of the model, in order.
    pub attempts: Vec<PlanAttempt>,
    /// The reason why the model declined. No further request follows.
    pub declined: Option<DeclineReason>,
    /// The error of the model, if it did not reply.
    pub failure: Option<ModelError>,
    /// Tokens and cost.
    pub usage: Usage,
}

/// A reply of the model and its evaluation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanAttempt {
    /// Text of the reply.
    pub reply: String,
    /// True if a plan was found in the reply, valid or not.
    pub contains_plan: bool,
    /// Diagnostics of the plan, after the repairs.
    pub diagnostics: Diagnostics,
    /// Repairs made without asking the model.
    pub repairs: Vec<PlanRepair>,
}

impl PlanAttempt {
    /// Returns the text of a reply without a plan, cut to a readable length.
    pub fn words(&self) -> &str {
        prefix_within(self.reply.trim(), MAX_PROSE_BYTES)
    }

    pub(crate) fn new(reply: String) -> Self {
        Self {
            reply,
            contains_plan: false,
            diagnostics: Diagnostics::new(),
            repairs: Vec::new(),
        }
    }
}

/// Requests a plan until it is valid or the tries are used up.
pub async fn create(creation: &PlanRequest<'_>) -> PlanResponse {
    let mut conversation = PlanConversation::new(creation);
    while let Some(request) = conversation.request() {
        let answer = answer(creation.model, request).await;
        conversation.process_reply(answer);
    }
    conversation.created
}

/// The conversation about a plan so far.
#[derive(Debug)]
pub(crate) struct PlanConversation<'a> {
    creation: &'a PlanRequest<'a>,
    prompt: PlanPrompt,
    /// The latest reply with its errors.
    failed: Vec<Message>,
    /// The plan of each reply so far, if it had one.
    plans: Vec<Option<String>>,
    /// The outcome so far.
    pub(crate) created: PlanResponse,
}

impl<'a> PlanConversation<'a> {
    pub(crate) fn new(creation: &'a PlanRequest<'a>) -> Self {
        let settings = creation.settings;
        let prompt = creation.task.prompt(
            settings.tool_tokens,
            settings.memory_tokens,
            settings.dialect,
        );
        Self {
            creation,
            prompt,
            failed: Vec::new(),
            plans: Vec::new(),
            created: PlanResponse::default(),
        }
    }

    /// Returns the next request, or `None` once there is a plan or no further try.
    pub(crate) fn request(&self) -> Option<ModelRequest> {
        let settings = self.creation.settings;
        let is_over = self.created.plan.is_some()
            || self.created.failure.is_some()
            || self.created.declined.is_some()
            || self.plans.len() >= settings.tries.get() as usize;
        (!is_over).then(|| self.next_request())
    }

    fn next_request(&self) -> ModelRequest {
        let settings = self.creation.settings;
        let question = Message::User(self.prompt.text.clone());
        let messages = std::iter::once(question).chain(self.failed.iter().cloned());
        ModelRequest {
            answer: enforced_schema(settings.dialect, self.creation.task.catalog),
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            is_prefix_shared: self.prompt.is_shared,
            ..ModelRequest::new(self.prompt.system.as_str(), messages)
        }
    }

    /// Processes a reply of the model.
    pub(crate) fn process_reply(&mut self, answer: Result<Reply, ModelError>) {
        let model = self.creation.model.name();
        let answer = answer.and_then(|reply| reply.completed_or_cut_off(model));
        let (reply, cut_off) = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // Failed requests cost as well.
                self.created.usage += error.usage;
                self.created.failure = Some(error);
                return;
            }
        };
        self.created.usage += reply.usage;
        if cut_off.is_none()
            && let Some(reason) = parse_decline(&reply.text)
        {
            self.created.declined = Some(reason);
            self.created.attempts.push(PlanAttempt::new(reply.text));
            return;
        }
        let PlanEvaluation {
            plan,
            dialect,
            plan_text,
            diagnostics,
            repairs,
        } = evaluate(&reply, self.creation);
        // A model that does not see its plan together with all errors tends to write the same plan again.
        let max_bytes = self.creation.settings.max_reply_bytes;
        // The errors of earlier replies are corrected by now, or this reply has them, too.
        let assistant = Message::Assistant {
            text: assistant_text(&reply.text, plan_text.as_deref(), max_bytes),
            calls: Vec::new(),
        };
        let is_repeated = self.plans.contains(&plan_text);
        let feedback = match dialect {
            PlanDialect::Json => feedback(&diagnostics, is_repeated),
            PlanDialect::Lines => {
                let text = plan_text.as_deref().unwrap_or_default();
                lines_feedback(&diagnostics, text, is_repeated)
            }
        };
        self.failed = vec![assistant, Message::User(feedback)];
        let is_last = self.plans.len() + 1 >= self.creation.settings.tries.get() as usize;
        // A model that writes prose twice in a row will hardly write a plan the third time.
        let is_prose = plan_text.is_none() && matches!(self.plans.last(), Some(None));
        self.created.failure = match cut_off {
            // A shorter plan may fit in the next try.
            Some(error) => Some(error).filter(|_| is_last && plan.is_none()),
            None if is_prose => Some(prose_error(model, &reply.text)),
            None => None,
        };
        self.created.attempts.push(PlanAttempt {
            contains_plan: plan_text.is_some(),
            diagnostics,
            repairs,
            ..PlanAttempt::new(reply.text)
        });
        self.plans.push(plan_text);
        self.created.plan = plan;
    }
}

/// Creates the error for a model that replies in prose again, although a plan was requested twice.
pub(crate) fn prose_error(model: &str, words: &str) -> ModelError {
    let message = format!("`{model}` writes no plan, but answers in words");
    ModelError::new(ModelErrorKind::Declined, message)
        .help("ask in other words, or ask another model")
        .with_words(words)
}

/// Formats a reply for the ongoing conversation: only its plan, if it has one, cut to `max_bytes` bytes. Never empty, since providers
/// reject messages without text.
pub(crate) fn assistant_text(reply: &str, plan_text: Option<&str>, max_bytes: usize) -> String {
    let text = match plan_text {
        Some(plan) => prefix_within(plan, max_bytes),
        None => prefix_within(reply.trim(), MAX_PROSE_BYTES),
    };
    match text {
        "" => "(nothing)".to_owned(),
        text => text.to_owned(),
    }
}
