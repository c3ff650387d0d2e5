//! A question with everything that became of it, `planwright.answer/1`.

use planwright_core::Value;
use serde::Serialize;

use super::{CreatedV1, ModelErrorV1, StreamedV1};
use crate::{ReportV1, UsageV1};

/// The schema's name and version.
pub const ANSWER_SCHEMA: &str = "planwright.answer/1";

/// The answer to a question, stage by stage: the plan, its run, the statistics, the answer.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerV1 {
    /// [`ANSWER_SCHEMA`].
    pub schema: &'static str,
    /// The question.
    pub question: String,
    /// The answer, if there is one.
    pub answer: Option<String>,
    /// The author of the answer: the model, or `analysis` if the model gave none.
    pub by: Option<String>,
    /// The steps that the answer cites as its support.
    pub rests_on: Vec<String>,
    /// The steps that failed.
    pub failed: Vec<MissingV1>,
    /// The steps that did not run.
    pub left_out: Vec<MissingV1>,
    /// The document about the plan.
    pub created: CreatedV1,
    /// The calls before the plan was complete; none if it was written first.
    pub streamed: Option<StreamedV1>,
    /// The report of the run.
    pub run: Option<ReportV1>,
    /// The figures computed from the results.
    pub analysis: Option<Value>,
    /// The tokens and the cost of all answers of the model.
    pub usage: UsageV1,
    /// The reason why the model gave no answer in the end.
    pub error: Option<ModelErrorV1>,
}

/// A step that gave nothing.
#[derive(Clone, Debug, Serialize)]
pub struct MissingV1 {
    /// The step.
    pub step: String,
    /// The reason.
    pub because: String,
}

impl AnswerV1 {
    /// Creates the document of a question with the result of its plan only.
    pub fn new(question: &str, created: CreatedV1) -> Self {
        Self {
            schema: ANSWER_SCHEMA,
            question: question.to_owned(),
            answer: None,
            by: None,
            rests_on: Vec::new(),
            failed: Vec::new(),
            left_out: Vec::new(),
            usage: created.usage,
            created,
            streamed: None,
            run: None,
            analysis: None,
            error: None,
        }
    }

    /// Adds the calls that ran while the plan was still being written.
    #[must_use]
    pub fn with_streamed(mut self, streamed: StreamedV1) -> Self {
        self.streamed = Some(streamed);
        self
    }
}
