//! Conversions of plans, answers and costs into the documents that other programs read.

use std::sync::Arc;

use planwright_core::Value;
use planwright_format::{
    AnswerV1, AttemptV1, CreatedV1, DeclinedV1, EarlyCallV1, ErrorV1, MissingV1, ModelErrorV1,
    RepairV1, ReportV1, StreamedV1, Trim, UsageV1,
};

use crate::analysis::Analysis;
use crate::answering::{Evidence, MissingResult};
use crate::create::{PlanAttempt, PlanRepair, PlanResponse};
use crate::model::{DeclineReason, ModelError, Usage};
use crate::stream::{EarlyCall, StreamOutcome};

/// The document about a plan that a model was asked for; `model` is the model's name.
pub fn created(created: &PlanResponse, model: &str) -> CreatedV1 {
    let plan = created.plan.as_ref();
    CreatedV1 {
        plan: plan.and_then(|plan| Value::from_json(&plan.text).ok()),
        model_calls: created.attempts.len(),
        attempts: created.attempts.iter().map(attempt).collect(),
        declined: created.declined.as_ref().map(declined),
        usage: created.usage.into(),
        error: created.failure.as_ref().map(model_error),
        ..CreatedV1::cached(None, model)
    }
}

/// The document about a run that began before its plan was complete. Values are cut to `max_bytes` bytes of JSON, if there is a limit.
pub fn streamed(streamed: &StreamOutcome, max_bytes: Option<u64>) -> StreamedV1 {
    let trim = max_bytes.map(Trim::to);
    let early = streamed.early.iter().map(|call| {
        let mut call = early_call(call);
        if let Some(trim) = trim {
            trim.fields(&mut call.args);
        }
        call
    });
    let abandoned = streamed.abandoned.as_ref().map(|summary| {
        let report = ReportV1::of_run(summary, Some("native"), []);
        match trim {
            Some(trim) => trim.report(report),
            None => report,
        }
    });
    StreamedV1 {
        first_call_at: streamed.first_call_at,
        early: early.collect(),
        abandoned,
    }
}

/// Adds the report of the run to an answer, with the evidence and the figures that the answer rests on.
#[must_use]
pub fn with_run(
    mut answer: AnswerV1,
    run: ReportV1,
    evidence: &Evidence,
    analysis: &Analysis,
) -> AnswerV1 {
    let missing = |steps: &[MissingResult]| steps.iter().map(missing).collect();
    answer.failed = missing(&evidence.failed);
    answer.left_out = missing(&evidence.left_out);
    answer.run = Some(run);
    // An analysis is plain data, which always has a JSON form.
    answer.analysis = serde_json::to_value(analysis).ok().map(Value::from);
    answer
}

/// The failure of a model as other programs read it.
pub fn model_error(error: &ModelError) -> ModelErrorV1 {
    ModelErrorV1 {
        message: error.message.clone(),
        help: error.help.clone(),
        said: Some(error.reply.to_string()).filter(|reply| !reply.is_empty()),
    }
}

impl From<Usage> for UsageV1 {
    fn from(usage: Usage) -> Self {
        Self {
            requests: usage.requests,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost: usage.cost,
        }
    }
}

fn attempt(attempt: &PlanAttempt) -> AttemptV1 {
    AttemptV1 {
        diagnostics: attempt.diagnostics.iter().cloned().collect(),
        repairs: attempt.repairs.iter().map(repair).collect(),
        said: (!attempt.contains_plan).then(|| attempt.words().to_owned()),
    }
}

fn declined(declined: &DeclineReason) -> DeclinedV1 {
    DeclinedV1 {
        kind: declined.as_str(),
        text: declined.words().to_owned(),
    }
}

fn repair(repair: &PlanRepair) -> RepairV1 {
    RepairV1 {
        pointer: repair.pointer.clone(),
        before: repair.before.clone(),
        after: repair.after.clone(),
    }
}

fn missing(missing: &MissingResult) -> MissingV1 {
    MissingV1 {
        step: missing.step.to_string(),
        because: missing.because.clone(),
    }
}

fn early_call(call: &EarlyCall) -> EarlyCallV1 {
    EarlyCallV1 {
        address: call.at.to_string(),
        attempt: call.attempt,
        tool: Arc::clone(&call.tool),
        args: call.args.clone(),
        error: call.error.as_ref().map(ErrorV1::from),
        counts: call.counts,
    }
}
