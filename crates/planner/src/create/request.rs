//! The request of a plan, and the plan that fulfills it.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use planwright_core::{CheckContext, CheckedPlan, Object, Value};
use planwright_dialects::native::PlanDialect;

use crate::model::{DEFAULT_TEMPERATURE, Model};
use crate::prompt::PlanTask;

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
    pub dialect: PlanDialect,
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
    /// True to accept a plan that names tools which do not exist, with a warning for each.
    pub allows_unknown_tools: bool,
}

impl Default for CreateSettings {
    fn default() -> Self {
        Self {
            dialect: PlanDialect::default(),
            // Three requests: most errors are gone after the first diagnostics, and each further one costs as much as the first.
            tries: NonZeroU32::MIN.saturating_add(2),
            tool_tokens: 6000,
            memory_tokens: 1000,
            max_reply_bytes: 256 * 1024,
            temperature: DEFAULT_TEMPERATURE,
            max_tokens: None,
            allows_unknown_tools: false,
        }
    }
}

impl fmt::Debug for PlanRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanRequest")
            .field("model", &self.model.name())
            .field("goal", &self.task.goal)
            .finish_non_exhaustive()
    }
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
                // A field that the model has written stays.
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
        f.debug_struct("PlanOrigin")
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}
