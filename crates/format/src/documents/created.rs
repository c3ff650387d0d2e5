//! What became of a plan that a model was to write, `planwright.created/1`.

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
    /// Who wrote it.
    pub model: String,
    /// How often the model answered.
    pub model_calls: usize,
    /// Whether the plan is one of an earlier time.
    pub cached: bool,
    /// What was found about each answer.
    pub attempts: Vec<AttemptV1>,
    /// What the model said in place of a plan.
    pub declined: Option<DeclinedV1>,
    /// What the answers cost.
    pub usage: UsageV1,
    /// Why the model did not answer, where it did not.
    pub error: Option<ModelErrorV1>,
}

/// What a model says in place of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct DeclinedV1 {
    /// `cannot`, or `ask` for a question to the person.
    pub kind: &'static str,
    /// Its words.
    pub text: String,
}

/// One answer.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptV1 {
    /// What was found about it, after the repairs. Places are those of the model's own JSON.
    pub diagnostics: Vec<Diagnostic>,
    /// What was mended without asking.
    pub repairs: Vec<RepairV1>,
    /// The model's words, if there is no plan in them.
    pub said: Option<String>,
}

/// Something that was mended.
#[derive(Clone, Debug, Serialize)]
pub struct RepairV1 {
    /// Where, as a JSON pointer into the model's own JSON.
    pub pointer: String,
    /// What stood there.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

/// Why a model did not answer.
#[derive(Clone, Debug, Serialize)]
pub struct ModelErrorV1 {
    /// One clause.
    pub message: String,
    /// What to do about it.
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
