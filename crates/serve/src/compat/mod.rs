//! Faces: the tools of other systems, with their names, their arguments and the form of their answers, so that prompts which were
//! written for them work as they are. What happens behind them is the same.

mod agentle;
mod concierge;
mod handler;
mod mcp_cli;
mod outcome;
mod stage_tools;

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Tool, Value};
use planwright_engine::{RunStatus, RunSummary};
use planwright_store::StoredPlan;

use self::outcome::ProfileOutcome;
use crate::response::answer;
use crate::tools::arguments::BadRequest;

/// A system whose tools the gateway can show in the place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaceName {
    /// Concierge: `execute_plan`, and the tools for its stages.
    Concierge,
    /// agentle4j: `execute_tool_plan`.
    Agentle,
    /// mcp-cli: `plan_execute`.
    McpCli,
}

/// The tools of another system.
trait Face: Sync {
    /// Their names.
    fn names(&self) -> &'static [&'static str];

    /// The tools, as `tools/list` writes them.
    fn entries(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value>;

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
    /// The tools that plans may call, where the client does not see them anyway.
    tools: Vec<&'a Arc<Tool>>,
    /// True if tools say which of their parameters take references.
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

impl FaceName {
    fn face(self) -> &'static dyn Face {
        match self {
            Self::Concierge => &concierge::Concierge,
            Self::Agentle => &agentle::Agentle,
            Self::McpCli => &mcp_cli::McpCli,
        }
    }
}

/// Returns the result of a run in the form of the system. No value is longer than `most` bytes.
pub(crate) fn run_response(
    name: FaceName,
    summary: &RunSummary,
    plan: Option<&CheckedPlan>,
    most: u64,
) -> Value {
    let face = name.face();
    let mut outcome = ProfileOutcome::new(summary, plan, most);
    let answered = face.answer(&mut outcome);
    let attached = outcome.finish();
    let is_error = matches!(summary.status, RunStatus::Failed | RunStatus::Cancelled);
    let text = face.text(&answered);
    answer::in_form_of_profile(answered, text, attached, is_error)
}

/// Returns a refusal, which all these systems write in the same form.
pub(crate) fn refused(name: FaceName, message: &str) -> Value {
    let answered = Value::object([("error", Value::from(message))]);
    let text = name.face().text(&answered);
    answer::in_form_of_profile(answered, text, (Vec::new(), None), true)
}

/// Returns the answer about a run that was interrupted.
pub(crate) fn interrupted(name: FaceName, run: &str) -> Value {
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
