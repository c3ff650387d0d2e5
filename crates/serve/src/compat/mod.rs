//! Compat profiles: the tools of other systems, with their names, arguments and response formats, so that prompts written for those
//! systems work unchanged. All profiles share the execution of plans.

mod agentle;
mod concierge;
mod handler;
mod mcp_cli;
mod outcome;

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Tool, Value};
use planwright_engine::{RunStatus, RunSummary};
use planwright_store::StoredPlan;

use self::outcome::ProfileOutcome;
use crate::response::answer;
use crate::tools::arguments::BadRequest;
use crate::tools::{Condition, MOVE_TO_STAGE};

/// A system whose tools the gateway can show in the place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompatProfile {
    /// Concierge: `execute_plan`, and the tools for its stages.
    Concierge,
    /// agentle4j: `execute_tool_plan`.
    Agentle,
    /// mcp-cli: `plan_execute`.
    McpCli,
}

/// A tool of a compat profile.
struct CompatTool {
    name: &'static str,
    condition: Condition,
    handler: CompatHandler,
}

/// The handler of a tool of a compat profile.
#[derive(Clone, Copy)]
enum CompatHandler {
    /// Runs the plan of the call.
    Execute,
    /// Has a plan written, and runs it if the tool requests it.
    Create,
    /// Moves on as Concierge does.
    Proceed,
    /// Starts over as Concierge does.
    Terminate,
    /// Moves as the gateway's own tool does.
    MoveToStage,
}

/// `move_to_stage`, for profiles whose systems have no tools for stages.
const STAGE_TOOL: CompatTool = CompatTool {
    name: MOVE_TO_STAGE,
    condition: Condition::Stages,
    handler: CompatHandler::MoveToStage,
};

/// The tools and formats of another system.
trait ProfileTools: Sync {
    /// All tools of the profile.
    fn tools(&self) -> &'static [CompatTool];

    /// The definitions of those that concern plans, as `tools/list` writes them.
    fn definitions(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value>;

    /// Returns the plan of a call.
    ///
    /// # Errors
    ///
    /// The arguments are none of these.
    fn plan(&self, arguments: &Value) -> Result<SubmittedPlan, BadRequest>;

    /// Returns the result of a run in the form of the system.
    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value;

    /// An answer as text.
    fn text(&self, answer: &Value) -> String {
        answer.to_json()
    }
}

/// The facts that a description can use.
struct DescriptionContext<'a> {
    /// The tools that plans may call, unless the client sees them anyway.
    tools: Vec<&'a Arc<Tool>>,
    /// True if tools mark their parameters that take references.
    marks_sharing: bool,
    /// Plans that were saved.
    saved: Vec<StoredPlan>,
    /// True if a model writes plans.
    creates: bool,
}

/// The plan of a call.
#[derive(Clone, Debug, PartialEq)]
enum SubmittedPlan {
    /// A plan.
    Plan {
        text: String,
        dialect: Option<&'static str>,
        given: Object,
    },
    /// The name or id of one that was saved.
    Stored { name: Arc<str>, given: Object },
}

impl CompatProfile {
    fn tools(self) -> &'static dyn ProfileTools {
        match self {
            Self::Concierge => &concierge::ConciergeProfile,
            Self::Agentle => &agentle::AgentleProfile,
            Self::McpCli => &mcp_cli::McpCliProfile,
        }
    }
}

/// Returns the result of a run in the form of the system. No value is longer than `most` bytes.
pub(crate) fn run_response(
    name: CompatProfile,
    summary: &RunSummary,
    plan: Option<&CheckedPlan>,
    most: u64,
) -> Value {
    let profile = name.tools();
    let mut outcome = ProfileOutcome::new(summary, plan, most);
    let answered = profile.answer(&mut outcome);
    let attached = outcome.finish();
    let is_error = matches!(summary.status, RunStatus::Failed | RunStatus::Cancelled);
    let text = profile.text(&answered);
    answer::in_form_of_profile(answered, text, attached, is_error)
}

/// Returns a refusal, which all these systems write in the same form.
pub(crate) fn refused(name: CompatProfile, message: &str) -> Value {
    let answered = Value::object([("error", Value::from(message))]);
    let text = name.tools().text(&answered);
    answer::in_form_of_profile(answered, text, (Vec::new(), None), true)
}

/// Returns the answer about a run that was interrupted.
pub(crate) fn interrupted(name: CompatProfile, run: &str) -> Value {
    let message =
        format!("the gateway ended before the plan did; `planwright resume {run}` goes on with it");
    refused(name, &message)
}

/// Returns whether a tool's schema marks any part as taking references.
pub(crate) fn marks_sharing(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| &**name == MARK || marks_sharing(value)),
        Value::List(items) => items.iter().any(marks_sharing),
        _ => false,
    }
}

/// The schema keyword of a parameter that accepts references.
const MARK: &str = "x-sharable";

#[cfg(test)]
mod tests;
