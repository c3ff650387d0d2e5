//! State of a failed run, as described to a model.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::{CheckedPlan, Value};
use planwright_dialects::Dialect;
use planwright_dialects::native::Native;
use planwright_engine::run::{RunSummary, StepStatus, StepSummary};

use crate::model::excerpt;
use crate::tools::signatures::estimate_tokens;

/// Maximum tokens of a single result.
const MAX_RESULT_TOKENS: usize = 300;

/// Maximum tokens of all results together.
const MAX_TOTAL_RESULT_TOKENS: usize = 4000;

/// A failed run, as described to a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailedRun {
    /// The original request, if the plan states it.
    pub goal: Option<String>,
    /// The plan in Planwright's own dialect.
    pub plan: Value,
    /// Completed steps.
    pub done: Vec<CompletedStep>,
    /// Failed steps.
    pub failed: Vec<FailedCall>,
    /// Steps that did not run.
    pub rest: Vec<Arc<str>>,
}

/// A completed step.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedStep {
    /// Id of the step.
    pub step: Arc<str>,
    /// Output of the step.
    pub output: Value,
}

/// A failed step.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedCall {
    /// Id of the step.
    pub step: Arc<str>,
    /// Tool name as written in the plan.
    pub tool: Option<Arc<str>>,
    /// Arguments of the call.
    pub args: Option<Value>,
    /// Kind of the error.
    pub kind: String,
    /// Message of the error.
    pub message: String,
}

impl FailedRun {
    /// Describes a run of `plan` by its summary. Returns `None` if the plan cannot be printed in our own dialect, or has several instances,
    /// whose states differ.
    pub fn of(plan: &CheckedPlan, summary: &RunSummary) -> Option<Self> {
        if !plan.plan().instances.is_empty() {
            return None;
        }
        let (text, _) = Native.print(plan.plan());
        let written = Value::from_json(&text?).ok()?;
        let named = plan
            .plan()
            .title
            .as_deref()
            .or(plan.plan().description.as_deref());
        // Plans that a model wrote have the request in their metadata.
        let query = plan.plan().metadata.get("query").and_then(Value::as_text);
        let goal = query.or(named).map(str::to_owned);
        let id = |step: &StepSummary| Arc::clone(step.at.step.text());
        let with = |status: StepStatus| {
            summary
                .steps
                .iter()
                .filter(move |step| step.status == status)
        };
        Some(Self {
            goal,
            plan: written,
            done: with(StepStatus::Succeeded)
                .map(|step| CompletedStep {
                    step: id(step),
                    output: step.output.clone().unwrap_or(Value::Null),
                })
                .collect(),
            failed: with(StepStatus::Failed)
                // A failure that the plan handles needs no revision.
                .filter(|step| !step.handled)
                .map(failed_step)
                .collect(),
            rest: with(StepStatus::Skipped)
                .chain(with(StepStatus::NotRun))
                .map(id)
                .collect(),
        })
    }

    pub(super) fn completed_ids(&self) -> BTreeSet<&str> {
        self.done.iter().map(|done| &*done.step).collect()
    }

    /// Formats the state for a prompt, cutting long results.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(goal) = &self.goal {
            let _ = writeln!(text, "What was wanted:\n{goal}\n");
        }
        let _ = writeln!(text, "The plan so far:\n{}\n", self.plan.to_json());
        if !self.done.is_empty() {
            text += "Done, with what each step gave:\n";
            text += &self.results();
            text.push('\n');
        }
        text += "Failed:\n";
        for failed_call in &self.failed {
            let tool = failed_call.tool.as_deref().unwrap_or("no tool");
            let _ = write!(
                text,
                "- `{}` ({tool}): {}: {}",
                failed_call.step,
                failed_call.kind,
                // The message may come from a server, and be of any length.
                excerpt(&failed_call.message, MAX_RESULT_TOKENS)
            );
            if let Some(args) = &failed_call.args {
                let _ = write!(
                    text,
                    "; it was given {}",
                    excerpt(&args.to_json(), MAX_RESULT_TOKENS)
                );
            }
            text.push('\n');
        }
        if !self.rest.is_empty() {
            let _ = writeln!(text, "\nNot run: `{}`", self.rest.join("`, `"));
        }
        text
    }

    fn results(&self) -> String {
        let mut text = String::new();
        for done in &self.done {
            let output = excerpt(&done.output.to_json(), MAX_RESULT_TOKENS);
            let line = format!("- `{}`: {output}\n", done.step);
            if estimate_tokens(&text) + estimate_tokens(&line) > MAX_TOTAL_RESULT_TOKENS {
                let _ = writeln!(
                    text,
                    // The model must know that the step is done, even if its result does not fit.
                    "- `{}`: done; there is no room for its result",
                    done.step
                );
            } else {
                text += &line;
            }
        }
        text
    }
}

fn failed_step(step: &StepSummary) -> FailedCall {
    let (kind, message) = match &step.error {
        Some(error) => (error.kind.as_str().to_owned(), error.message.clone()),
        None => ("internal".to_owned(), "it is not known why".to_owned()),
    };
    FailedCall {
        step: Arc::clone(step.at.step.text()),
        tool: step.tool.clone(),
        args: step.args.clone(),
        kind,
        message,
    }
}
