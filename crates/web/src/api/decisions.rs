//! The inbox of all calls that wait, and the decisions about them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use planwright::core::{PlanConsent, Schema, Value};
use planwright::engine::Decision;
use planwright::store::StoreError;
use planwright::stored::{
    ArgumentViolation, Decider, OpenQuestion, Passphrase, StoredRun, StoredRunError,
    argument_violations,
};
use serde::{Deserialize, Serialize};

use super::find;
use super::input::JsonBody;
use crate::board::Question;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

/// The calls that wait for a decision.
#[derive(Serialize)]
pub(crate) struct Inbox {
    questions: Vec<Arc<Question>>,
}

pub(crate) async fn inbox(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Json<Inbox>, ApiError> {
    blocking(move || {
        let mut questions = state.board.read_followed()?.questions;
        questions.retain(|question| visitor.may_see(&question.owner));
        Ok(Json(Inbox { questions }))
    })
    .await
}

/// A decision about one or more calls of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDecisions {
    run: String,
    /// The calls, as they were shown.
    decisions: Vec<ShownCall>,
    decision: DecisionWord,
    /// The digest of the plan, if it is approved as a whole. Then `decisions` names all waiting calls.
    plan_digest: Option<PlanConsent>,
    /// The arguments that replace those of the call, for `change`.
    arguments: Option<Value>,
    /// The reason of a rejection.
    reason: Option<String>,
    passphrase: Option<String>,
}

/// A call that was shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShownCall {
    at: String,
    digest: String,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionWord {
    Approve,
    Change,
    Reject,
}

#[derive(Serialize)]
pub(crate) struct Decided {
    decided: usize,
}

pub(crate) async fn decide(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(new): JsonBody<NewDecisions>,
) -> Result<Json<Decided>, ApiError> {
    blocking(move || store(&state, &visitor, new).map(Json)).await
}

fn store(state: &PageState, visitor: &Visitor, new: NewDecisions) -> Result<Decided, ApiError> {
    let info = find(state, visitor, &new.run)?;
    let decision = new.decision()?;
    let stored = state.board.stored(&info)?;
    let open = OpenQuestion::of(&info.id, &stored.history()?);
    // All calls are compared before the first decision is stored.
    let mut questions = Vec::new();
    for shown in &new.decisions {
        let question = open
            .iter()
            .find(|question| question.at.to_string() == shown.at);
        let question = question.filter(|question| question.digest() == shown.digest);
        questions.push(question.ok_or_else(|| {
            ApiError::conflict(format!(
                "the call of `{}` is not the one that was shown, or no longer waits",
                shown.at
            ))
            .help("look at the calls that wait now")
        })?);
    }
    if let Decision::Approve { args: Some(args) } = &decision {
        for question in &questions {
            let subject = &question.subject;
            subject.check_changed_args(args).map_err(|error| {
                ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            })?;
            let schema = input_schema(&stored, &subject.server, &subject.tool);
            let violations =
                schema.map_or_else(Vec::new, |schema| argument_violations(&schema, args));
            if let Some(violation) = violations.first() {
                let message = format!(
                    "the tool does not take these arguments: {}",
                    violation.message
                );
                return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, message));
            }
        }
    }
    let decider = decider(state, visitor, new.passphrase.as_deref())?;
    let service = &state.settings.service;
    // Either the plan with all of its calls is approved, or nothing, because another process may have decided about a call meanwhile.
    let done = match &new.plan_digest {
        Some(digest) => service.approve_plan(info.id.as_str(), digest, &questions, &decider),
        None => service.decide_all(&questions, &decision, &decider),
    };
    done.map_err(|error| match error {
        planwright::service::Error::StoredRun(error) => refused(error),
        other => other.into(),
    })?;
    Ok(Decided {
        decided: questions.len(),
    })
}

/// The answer to a decision that cannot be stored.
fn refused(error: StoredRunError) -> ApiError {
    match error {
        StoredRunError::Store(error @ StoreError::Decided { .. }) => {
            ApiError::conflict(error.to_string()).help("a decision cannot be changed")
        }
        StoredRunError::Store(error @ StoreError::PlanApproved { .. }) => {
            ApiError::conflict(error.to_string()).help("approve the calls alone")
        }
        StoredRunError::OtherPlan => {
            ApiError::conflict("the plan is not the one that was shown, or is still being written")
                .help("look at the plan that the run has now")
        }
        error @ StoredRunError::NotShown { .. } => {
            ApiError::conflict(error.to_string()).help("look at the calls that wait now")
        }
        other => other.into(),
    }
}

impl NewDecisions {
    fn decision(&self) -> Result<Decision, ApiError> {
        if self.decisions.is_empty() {
            return Err(ApiError::bad("no call is named"));
        }
        let has_arguments = self.arguments.is_some();
        if has_arguments != (self.decision == DecisionWord::Change) {
            return Err(ApiError::bad("`arguments` belong to `change` alone"));
        }
        if self.plan_digest.is_some() && self.decision != DecisionWord::Approve {
            return Err(ApiError::bad("`plan_digest` belongs to `approve` alone"));
        }
        if has_arguments && self.decisions.len() > 1 {
            return Err(ApiError::bad("`change` applies to one call"));
        }
        Ok(match self.decision {
            DecisionWord::Approve => Decision::Approve { args: None },
            DecisionWord::Change => {
                let args = self.arguments.clone();
                if args.as_ref().is_some_and(|args| args.as_object().is_none()) {
                    return Err(ApiError::bad("`arguments` is not an object"));
                }
                Decision::Approve { args }
            }
            DecisionWord::Reject => Decision::Reject {
                because: self
                    .reason
                    .clone()
                    .filter(|reason| !reason.trim().is_empty()),
            },
        })
    }
}

/// Returns the person who decides, with the proof of the passphrase if it was entered.
pub(super) fn decider(
    state: &PageState,
    visitor: &Visitor,
    entered: Option<&str>,
) -> Result<Decider, ApiError> {
    let name = visitor.client().map(str::to_owned);
    let decider = Decider::new(name.or_else(|| state.settings.person.clone()));
    let passphrase = Passphrase::of([&state.settings.store])?;
    let Some(entered) = entered.filter(|_| passphrase.is_set()) else {
        return Ok(decider);
    };
    // Counted before the comparison, which is slow by design, so that guesses beyond the limit reveal nothing and cost no time.
    let party = visitor.party();
    let attempts = &state.wrong_passphrases;
    attempts.count(party.as_ref(), "passphrases")?;
    let confirmed = passphrase.confirm(entered)?;
    attempts.uncount(party.as_ref());
    Ok(decider.confirmed(confirmed))
}

/// The schema of the arguments of a tool in the latest process of a run.
fn input_schema(stored: &StoredRun, server: &str, name: &str) -> Option<Schema> {
    let tools = stored.process.iter().flat_map(|process| &process.tools);
    let mut found = tools.filter(|tool| *tool.server == *server && tool.name == name);
    let schema = found.next()?.input_schema.clone();
    Some(Schema::from_value(schema))
}

/// Arguments that a person writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenArguments {
    /// The run that calls the tool.
    run: String,
    server: String,
    tool: String,
    arguments: Value,
}

#[derive(Serialize)]
pub(crate) struct Violations {
    pub(super) findings: Vec<ArgumentViolation>,
}

pub(crate) async fn check(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(written): JsonBody<WrittenArguments>,
) -> Result<Json<Violations>, ApiError> {
    blocking(move || {
        let info = find(&state, &visitor, &written.run)?;
        let stored = state.board.stored(&info)?;
        let schema = input_schema(&stored, &written.server, &written.tool)
            .ok_or_else(|| ApiError::missing("tool", &written.tool))?;
        let findings = argument_violations(&schema, &written.arguments);
        Ok(Json(Violations { findings }))
    })
    .await
}
