//! The calls of the model, and their results.

use std::sync::Mutex;

use planwright::core::{Diagnostics, Value};
use planwright::dialects::Dialect;
use planwright::dialects::document::nearest;
use planwright::dialects::native::Native;
use planwright::engine::RunId;
use planwright::engine::run::StepSummary;
use planwright::engine::{RunStatus, RunSummary};
use planwright::format::Trim;
use planwright::loaded_plan::single_call;
use planwright::planner::model::{ModelCall, Usage};
use planwright::terminal_text;
use tokio::time::Instant;

use super::chat_plans::ChatPlans;
use super::context::ChatContext;
use super::tool_offer::{CREATE, CREATE_AND_EXECUTE, EXECUTE, FIND, ToolOffer};
use crate::error::CommandError;
use crate::runs::store;

/// The largest number of characters of invalid arguments that are repeated to the model.
const MAX_ARGUMENTS: usize = 2000;

/// Answers calls of the model.
pub(super) struct CallHandler<'a> {
    pub(super) context: &'a ChatContext<'a>,
    /// The plans of the conversation.
    pub(super) plans: &'a Mutex<ChatPlans>,
    /// The tools that the model is offered.
    pub(super) offer: &'a ToolOffer<'a>,
    /// The tokens and the cost of other requests to the model during the call.
    pub(super) usage: Mutex<Usage>,
}

/// The result of a call for the model, and whether it succeeded.
pub(super) struct CallOutcome {
    pub(super) text: String,
    pub(super) is_success: bool,
}

impl CallOutcome {
    pub(super) fn failure(message: impl std::fmt::Display) -> Self {
        Self {
            text: format!("error: {message}"),
            is_success: false,
        }
    }
}

impl CallHandler<'_> {
    /// Makes a call, and returns its result for the model.
    pub(super) async fn answer(&self, call: &ModelCall) -> String {
        let begin = Instant::now();
        if let Some(problem) = invalid_arguments_message(&call.arguments) {
            let output = &self.context.output;
            output.line(&format!("  ✗ {}  was refused: {problem}", call.name));
            output.print_call(&call.name, &call.arguments, false, begin.elapsed());
            return CallOutcome::failure(problem).text;
        }
        let argument = |name: &str| call.arguments.get(name).and_then(Value::as_text);
        let outcome = match (&*call.name, argument("goal"), argument("plan_id")) {
            (name, ..) if !self.offer.has_own(name) => self.tool(name, &call.arguments).await,
            (CREATE, Some(goal), _) => self.create(goal).await,
            (CREATE_AND_EXECUTE, Some(goal), _) => self.create_and_execute(goal).await,
            (EXECUTE, _, Some(id)) => self.execute(id).await,
            (CREATE | CREATE_AND_EXECUTE, None, _) => {
                Ok(CallOutcome::failure("the argument `goal` is missing"))
            }
            (EXECUTE, _, None) => Ok(CallOutcome::failure("the argument `plan_id` is missing")),
            _ => Ok(self.find(argument("query"))),
        };
        let outcome = outcome.unwrap_or_else(CallOutcome::failure);
        self.context.output.print_call(
            &call.name,
            &call.arguments,
            outcome.is_success,
            begin.elapsed(),
        );
        outcome.text
    }

    /// Finds tools, which the model can then call.
    fn find(&self, query: Option<&str>) -> CallOutcome {
        let Some(query) = query else {
            return CallOutcome::failure("the argument `query` is missing");
        };
        let found = self.offer.find(query);
        self.context
            .output
            .line(&format!("  ✓ {FIND}  {}", found.len()));
        let text = if found.is_empty() {
            "no tool fits".to_owned()
        } else {
            found.join("\n")
        };
        CallOutcome {
            text,
            is_success: true,
        }
    }

    /// Calls a tool as a plan of one step, so that it is checked, approved and stored like every run.
    async fn tool(&self, name: &str, arguments: &Value) -> Result<CallOutcome, CommandError> {
        let context = self.context;
        let Some(tool) = context.tools.get(name) else {
            let near = nearest(name, context.tools.keys().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?"));
            let message = format!("there is no tool `{name}`{}", near.unwrap_or_default());
            context.output.line(&format!("  ✗ {message}"));
            return Ok(CallOutcome::failure(message));
        };
        let (Some(text), _) = Native.print(&single_call(&context.toolbox.catalog, tool, arguments))
        else {
            return Ok(CallOutcome::failure("these arguments cannot be stored"));
        };
        let loaded = ChatContext::read(&tool.name, &text, Some(Native.name()));
        let (plan, loaded) = context.check(loaded);
        let Some(plan) = plan else {
            context
                .output
                .line(&format!("  ✗ {}  was refused", tool.name));
            return Ok(CallOutcome::failure(error_lines(&loaded.diagnostics)));
        };
        let summary = context.run(&RunId::random(), &loaded, &plan, false).await?;
        Ok(self.call_outcome(&summary))
    }

    /// Returns the result of a call of one tool, for the model.
    fn call_outcome(&self, summary: &RunSummary) -> CallOutcome {
        let step = summary.steps.first();
        if let (RunStatus::Succeeded, Some(output)) =
            (summary.status, step.and_then(|step| step.output.as_ref()))
        {
            return CallOutcome {
                text: trimmed(output, self.context.arguments.bounds.result).to_inserted_text(),
                is_success: true,
            };
        }
        CallOutcome::failure(failure_reason(summary, step))
    }
}

/// Returns the reason why arguments are invalid; `None` if they are an object. The text is repeated in the message, because the model does
/// not see invalid arguments that it wrote.
fn invalid_arguments_message(arguments: &Value) -> Option<String> {
    if matches!(arguments, Value::Object(_) | Value::Null) {
        return None;
    }
    let text = arguments.to_inserted_text();
    let problem = match Value::from_json(&text) {
        Ok(value) => format!("a {}, not an object", value.kind()),
        Err(error) => format!("no JSON: {error}"),
    };
    let arguments = terminal_text::shortened(&text, MAX_ARGUMENTS, "…");
    Some(format!(
        "the arguments are {problem}; call it again with a JSON object. They were: {arguments}"
    ))
}

/// Returns `value` trimmed to `limit` bytes.
pub(super) fn trimmed(value: &Value, limit: u64) -> Value {
    let mut value = value.clone();
    Trim::to(limit).fields(&mut value);
    value
}

/// Formats the diagnostics of a plan for the model.
pub(super) fn error_lines(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error());
    let lines: Vec<String> = errors.map(ToString::to_string).collect();
    lines.join("\n")
}

/// Returns the reason why a run has not succeeded.
pub(super) fn failure_reason(summary: &RunSummary, step: Option<&StepSummary>) -> String {
    let run = store::short_id(&summary.run);
    if let Some(error) = step.and_then(|step| step.error.as_ref()) {
        return error.as_value().to_json();
    }
    match summary.status {
        RunStatus::Waiting => format!(
            "the call waits for a person: `planwright approve {run} STEP`, then `planwright resume {run}`"
        ),
        RunStatus::Cancelled => "it was cancelled".to_owned(),
        RunStatus::Succeeded | RunStatus::Failed => "it did not succeed".to_owned(),
    }
}
