//! Documents of commands that write plans: `create`, streamed runs, `convert`.

use std::sync::Arc;

use planwright_core::{Diagnostic, Value};
use serde::Serialize;

use crate::{ErrorV1, ReportV1, UsageV1};

/// The schema's name and version.
pub const CREATED_SCHEMA: &str = "planwright.created/1";

/// A plan that a model wrote, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct CreatedV1 {
    /// [`CREATED_SCHEMA`].
    pub schema: &'static str,
    /// The plan in Planwright's own dialect; none if no answer was a sound plan.
    pub plan: Option<Value>,
    /// The name of the model.
    pub model: String,
    /// The number of answers.
    pub model_calls: usize,
    /// True if the plan is one of an earlier time.
    pub cached: bool,
    /// The diagnostics of each answer.
    pub attempts: Vec<AttemptV1>,
    /// The model's reply in place of a plan.
    pub declined: Option<DeclinedV1>,
    /// The tokens and the cost of the answers.
    pub usage: UsageV1,
    /// The reason why the model did not answer.
    pub error: Option<ModelErrorV1>,
}

/// A model's reply that declines to write a plan.
#[derive(Clone, Debug, Serialize)]
pub struct DeclinedV1 {
    /// `cannot`, or `ask` for a question to the person.
    pub kind: &'static str,
    /// The reply or question of the model.
    pub text: String,
}

/// An answer of a model.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptV1 {
    /// The diagnostics after the repairs. Places are those of the model's own JSON.
    pub diagnostics: Vec<Diagnostic>,
    /// The repairs that needed no further answer.
    pub repairs: Vec<RepairV1>,
    /// The model's words, if there is no plan in them.
    pub said: Option<String>,
}

/// A repair of a plan's text.
#[derive(Clone, Debug, Serialize)]
pub struct RepairV1 {
    /// The place, as a JSON pointer into the model's own JSON.
    pub pointer: String,
    /// The text before the repair.
    pub before: String,
    /// The text after the repair.
    pub after: String,
}

/// The reason why a model did not answer.
#[derive(Clone, Debug, Serialize)]
pub struct ModelErrorV1 {
    /// The reason, as one clause.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
    /// The model's own words, as far as there are any.
    pub said: Option<String>,
}

impl CreatedV1 {
    /// A plan of an earlier time.
    pub fn cached(plan: Option<Value>, model: &str) -> Self {
        Self {
            schema: CREATED_SCHEMA,
            cached: plan.is_some(),
            plan,
            model: model.to_owned(),
            model_calls: 0,
            attempts: Vec::new(),
            declined: None,
            usage: UsageV1::default(),
            error: None,
        }
    }
}

/// Calls that were made while the plan was still being written.
#[derive(Clone, Debug, Serialize)]
pub struct StreamedV1 {
    /// The share of the model's answer that had arrived when the first call was sent, between 0 and 1; none if all of it had.
    pub first_call_at: Option<f64>,
    /// The calls before the plan was complete. All of them only read.
    pub early: Vec<EarlyCallV1>,
    /// The report of the early run if the final plan did not continue it; none otherwise.
    pub abandoned: Option<ReportV1>,
}

/// A call that was sent before the plan was whole.
#[derive(Clone, Debug, Serialize)]
pub struct EarlyCallV1 {
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    pub address: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The tool, as the plan names it.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// The reason why it failed or was cancelled.
    pub error: Option<ErrorV1>,
    /// True if the run of the whole plan reuses the call; otherwise its result was discarded.
    pub counts: bool,
}

/// The schema's name and version.
pub const CONVERSION_SCHEMA: &str = "planwright.conversion/1";

/// A plan in another dialect, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct ConversionV1 {
    /// [`CONVERSION_SCHEMA`].
    pub schema: &'static str,
    /// True if the plan was converted.
    pub ok: bool,
    /// The dialect that the plan was read in, as far as it is known.
    pub from: Option<String>,
    /// The dialect that the plan was to be written in.
    pub dialect: String,
    /// The text of the converted plan; none if a part could not be expressed.
    pub plan: Option<String>,
    /// The diagnostics of the plan, and of everything that the dialect cannot express. Places are those of the plan as it was read.
    pub diagnostics: Vec<Diagnostic>,
}

impl ConversionV1 {
    /// Creates the document about a conversion `from` one dialect `to` another, with its diagnostics.
    pub fn new(
        from: Option<&str>,
        to: &str,
        plan: Option<&str>,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Self {
        Self {
            schema: CONVERSION_SCHEMA,
            ok: plan.is_some(),
            from: from.map(str::to_owned),
            dialect: to.to_owned(),
            plan: plan.map(str::to_owned),
            diagnostics: diagnostics.into_iter().collect(),
        }
    }
}
