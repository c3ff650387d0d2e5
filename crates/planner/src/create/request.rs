//! Requests for plans and their outcome.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use planwright_core::{CheckContext, CheckedPlan, Diagnostics, Object, Value};

use super::repair::PlanRepair;
use crate::model::{DEFAULT_TEMPERATURE, DeclineReason, Model, ModelError, Usage, prefix_within};
use crate::prompt::{PlanDialect, PlanTask};

/// Maximum bytes of a reply without a plan that are shown or sent back to the model.
pub(super) const MAX_PROSE_BYTES: usize = 2048;

/// A request to create a plan.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The model that writes the plan.
    pub model: &'a dyn Model,
    /// The task for the prompt.
    pub task: PlanTask<'a>,
    /// Context of the plan check.
    pub check: CheckContext<'a>,
    /// Metadata for the plan.
    pub origin: PlanOrigin<'a>,
    /// Settings of the request.
    pub settings: &'a CreateSettings,
}

/// Settings of plan creation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CreateSettings {
    /// Dialect that the model writes.
    pub notation: PlanDialect,
    /// Maximum number of requests to the model.
    pub tries: NonZeroU32,
    /// Maximum tokens of tool signatures in the prompt.
    pub tool_tokens: usize,
    /// Maximum tokens of memory in the prompt.
    pub memory_tokens: usize,
    /// Maximum size of a reply, in bytes. Larger replies are rejected unread.
    pub max_reply_bytes: usize,
    /// Sampling temperature.
    pub temperature: f64,
    /// Maximum number of output tokens.
    pub max_tokens: Option<u32>,
}

impl Default for CreateSettings {
    fn default() -> Self {
        Self {
            notation: PlanDialect::default(),
            tries: NonZeroU32::MIN.saturating_add(2),
            tool_tokens: 6000,
            memory_tokens: 1000,
            max_reply_bytes: 256 * 1024,
            temperature: DEFAULT_TEMPERATURE,
            max_tokens: None,
        }
    }
}

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

/// A plan that passed the check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreatedPlan {
    /// Text of the plan, in Planwright's own dialect.
    pub text: String,
    /// The checked plan.
    pub checked: CheckedPlan,
}

/// A reply of the model and its evaluation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanAttempt {
    /// Text of the reply.
    pub reply: String,
    /// True if a plan was found in the reply, valid or not.
    pub holds_plan: bool,
    /// Diagnostics of the plan, after the repairs.
    pub diagnostics: Diagnostics,
    /// Repairs made without asking the model.
    pub repairs: Vec<PlanRepair>,
}

/// Origin of a plan, stored in its metadata.
#[derive(Clone, Copy)]
pub struct PlanOrigin<'a> {
    /// Time of the request, in RFC 3339.
    pub timestamp: &'a str,
    /// Estimator of the duration of a run.
    pub estimate: &'a (dyn Fn(&CheckedPlan) -> Option<Duration> + Sync),
}

impl PlanOrigin<'_> {
    /// Builds the metadata of a plan that `model` wrote for `query`. Fields that the model wrote itself take precedence.
    pub(super) fn metadata(
        &self,
        written: &Value,
        query: &str,
        model: &str,
        plan: &CheckedPlan,
    ) -> Value {
        let estimate = (self.estimate)(plan).map(|estimate| {
            let milliseconds = u64::try_from(estimate.as_millis()).unwrap_or(u64::MAX);
            Value::from(milliseconds)
        });
        let known = [
            ("query", Some(Value::text(query))),
            ("timestamp", Some(Value::text(self.timestamp))),
            ("model", Some(Value::text(model))),
            ("estimated_duration_ms", estimate),
        ];
        let mut fields = written.as_object().cloned().unwrap_or_else(Object::default);
        for (name, value) in known {
            if let Some(value) = value
                && !fields.contains_key(name)
            {
                fields.insert(name.into(), value);
            }
        }
        Value::from(fields)
    }
}

impl fmt::Debug for PlanOrigin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}

impl PlanAttempt {
    /// Returns the text of a reply without a plan, cut to a readable length.
    pub fn words(&self) -> &str {
        prefix_within(self.reply.trim(), MAX_PROSE_BYTES)
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

impl fmt::Debug for PlanRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Creation")
            .field("model", &self.model.name())
            .field("goal", &self.task.goal)
            .finish_non_exhaustive()
    }
}
