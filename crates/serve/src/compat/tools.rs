//! The tools of a compat profile: what each profile has to provide, and the result of a run, as profiles read it.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Plan, Tool, Value};
use planwright_engine::RunId;
use planwright_engine::run::{StepStatus, StepSummary};
use planwright_engine::{RunStatus, RunSummary};
use planwright_store::StoredPlan;

use crate::response::budget::ResponseBudget;
use crate::response::content::Attachments;
use crate::tools::arguments::BadRequest;
use crate::tools::{Condition, MOVE_TO_STAGE};

/// A tool of a compat profile.
pub(super) struct CompatTool {
    pub(super) name: &'static str,
    pub(super) condition: Condition,
    pub(super) handler: CompatHandler,
}

/// The handler of a tool of a compat profile.
#[derive(Clone, Copy)]
pub(super) enum CompatHandler {
    /// Runs the plan of the call.
    Execute,
    /// Has a plan written, and runs it if the tool requests it.
    Create,
    /// Moves to the next stage as Concierge does.
    Proceed,
    /// Starts over as Concierge does.
    Terminate,
    /// Moves as the gateway's own tool does.
    MoveToStage,
}

/// `move_to_stage`, for profiles whose systems have no tools for stages.
pub(super) const STAGE_TOOL: CompatTool = CompatTool {
    name: MOVE_TO_STAGE,
    condition: Condition::Stages,
    handler: CompatHandler::MoveToStage,
};

/// The tools and formats of another system.
pub(super) trait ProfileTools: Sync {
    /// Returns all tools of the profile.
    fn tools(&self) -> &'static [CompatTool];

    /// Returns the definitions of the tools for plans, as `tools/list` writes them.
    fn definitions(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value>;

    /// Returns the plan of a call.
    ///
    /// # Errors
    ///
    /// The arguments have no plan.
    fn plan(&self, arguments: &Value) -> Result<SubmittedPlan, BadRequest>;

    /// Returns the result of a run in the form of the system.
    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value;

    /// Returns an answer as text.
    fn text(&self, answer: &Value) -> String {
        answer.to_json()
    }
}

/// The data for the descriptions of tools.
pub(super) struct DescriptionContext<'a> {
    /// The tools that plans may call; empty if the client sees them anyway.
    pub(super) tools: Vec<&'a Arc<Tool>>,
    /// True if tools mark their parameters that take references.
    pub(super) marks_sharing: bool,
    /// The stored plans.
    pub(super) saved: Vec<StoredPlan>,
    /// True if a model writes plans.
    pub(super) creates: bool,
}

/// The plan of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SubmittedPlan {
    /// A plan.
    Plan {
        text: String,
        dialect: Option<&'static str>,
        inputs: Object,
    },
    /// The name or id of a stored plan.
    Stored { name: Arc<str>, inputs: Object },
}

/// The result of a run.
pub(super) struct ProfileOutcome<'a> {
    pub(super) summary: &'a RunSummary,
    /// The plan, if it is known.
    pub(super) plan: Option<&'a Plan>,
    bounds: ResponseBudget,
    attached: Attachments<'a>,
}

impl<'a> ProfileOutcome<'a> {
    /// Creates the result. Values are shown up to `limit` bytes.
    pub(super) fn new(summary: &'a RunSummary, plan: Option<&'a CheckedPlan>, limit: u64) -> Self {
        Self {
            summary,
            plan: plan.map(CheckedPlan::plan),
            bounds: ResponseBudget::new(limit),
            attached: Attachments::of(summary, plan),
        }
    }

    /// Returns the blocks besides the text, and the run if a value was abbreviated.
    pub(super) fn finish(self) -> (Vec<Value>, Option<&'a RunId>) {
        let (blocks, _) = self.attached.finish();
        let whole = self.bounds.is_trimmed.then_some(&self.summary.run);
        (blocks, whole)
    }

    pub(super) fn is_success(&self) -> bool {
        self.summary.status == RunStatus::Succeeded
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &'a StepSummary> + use<'a> {
        self.summary.steps.iter()
    }

    /// Returns `value`, abbreviated if it is too large.
    pub(super) fn abbreviate(&mut self, value: &Value) -> Value {
        // A field of any type is trimmed as a whole.
        let shown = self.abbreviate_fields(&Value::object([("value", value.clone())]));
        shown.get("value").cloned().unwrap_or_default()
    }

    /// Returns the fields of `values`, abbreviated if they are too large.
    pub(super) fn abbreviate_fields(&mut self, values: &Value) -> Value {
        self.bounds.fields(&self.attached.detach(values))
    }

    /// Returns the reason why a step has no output.
    pub(super) fn failure_reason(&self, step: &StepSummary) -> String {
        let (run, at) = (&self.summary.run, &step.at);
        match step.status {
            StepStatus::Succeeded => String::new(),
            StepStatus::Failed => failure(step),
            StepStatus::Skipped | StepStatus::NotRun => match &step.reason {
                Some(reason) => format!("skipped: {reason}"),
                None => "skipped".to_owned(),
            },
            StepStatus::Cancelled => "cancelled".to_owned(),
            StepStatus::Waiting => format!(
                "a person has to decide about this call of `{at}` before the run `{run}` can continue"
            ),
            StepStatus::Unknown => format!(
                "it is unknown whether this call happened; a person has to look and decide before the run `{run}` can continue"
            ),
        }
    }
}

/// Returns the error of the step or of one of its parts.
fn failure(step: &StepSummary) -> String {
    if let Some(error) = &step.error {
        return error.message.clone();
    }
    let mut parts = step.parts.iter();
    match parts.find(|part| part.status == StepStatus::Failed) {
        Some(part) => format!("`{}` failed: {}", part.at, failure(part)),
        None => "failed".to_owned(),
    }
}

/// Returns the plan whose fields are the arguments. The list of steps may be JSON within a text, as models write it.
pub(super) fn plan_of_steps(
    arguments: &Value,
    dialect: &'static str,
    tool: &str,
) -> Result<SubmittedPlan, BadRequest> {
    let mut fields: Object = arguments.as_object().cloned().unwrap_or_default();
    let Some(steps) = fields.get_mut("steps").filter(|steps| !steps.is_null()) else {
        return Err(BadRequest(format!(
            "`{tool}` needs the argument `steps`: {{\"steps\": [{{\"id\": …, \"tool\": …}}, …]}}"
        )));
    };
    if let Some(text) = steps.as_text()
        && let Ok(list @ Value::List(_)) = Value::from_json(text)
    {
        *steps = list;
    }
    Ok(SubmittedPlan::Plan {
        text: Value::from(fields).to_json(),
        dialect: Some(dialect),
        inputs: Object::default(),
    })
}
