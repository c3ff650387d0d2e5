//! A plan that a model was asked for, `planwright.created/1`.

use planwright_core::{Diagnostic, Value};
use serde::Serialize;

use crate::UsageV1;

/// The schema's name and version.
pub const CREATED_SCHEMA: &str = "planwright.created/1";

/// A plan that a model wrote, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct CreatedV1 {
    /// [`CREATED_SCHEMA`].
    pub schema: &'static str,
    /// The plan in Planwright's own dialect; none where no answer was a sound one.
    pub plan: Option<Value>,
    /// The name of the model.
    pub model: String,
    /// The number of answers.
    pub model_calls: usize,
    /// True if the plan is one of an earlier time.
    pub cached: bool,
    /// The diagnostics of each answer.
    pub attempts: Vec<AttemptV1>,
    /// The model's words in place of a plan.
    pub declined: Option<DeclinedV1>,
    /// The tokens and the cost of the answers.
    pub usage: UsageV1,
    /// The reason why the model did not answer.
    pub error: Option<ModelErrorV1>,
}

/// A model's words in place of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct DeclinedV1 {
    /// `cannot`, or `ask` for a question to the person.
    pub kind: &'static str,
    /// Its words.
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

/// Something that was mended.
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
