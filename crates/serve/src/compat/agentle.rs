//! The compat profile of agentle4j: `execute_tool_plan`.

use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::plan::Output;
use planwright_core::{Object, Value};
use planwright_engine::run::{SkipKind, StepStatus, StepSummary};
use serde_json::json;

use super::tools::ProfileOutcome;
use super::tools::{
    CompatHandler, CompatTool, DescriptionContext, ProfileTools, STAGE_TOOL, SubmittedPlan,
};
use crate::signatures::signature;
use crate::tools::Condition;
use crate::tools::arguments::BadRequest;

const EXECUTE_TOOL_PLAN: &str = "execute_tool_plan";

const DESCRIPTION: &str = r#"Run several tool calls as one plan, in place of one after the other. Steps that do not need each other run side by side, and a failure ends only what needs it.

A step has an `id`, a `tool`, and its `arguments` as JSON text. In there, "$ref:id" as a whole value stands for what the step `id` gave, and "$ref:id.field.0" for a part of that. `output_steps` names the steps whose results come back; without it, all do.

{"steps": [
  {"id": "oslo", "tool": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
  {"id": "rome", "tool": "get_weather", "arguments": "{\"city\": \"Rome\"}"},
  {"id": "warmer", "tool": "compare", "arguments": "{\"a\": \"$ref:oslo.temp\", \"b\": \"$ref:rome.temp\"}"}],
 "output_steps": ["warmer"]}"#;

/// The profile of agentle4j, with its tool for plans.
pub(super) struct AgentleProfile;

impl ProfileTools for AgentleProfile {
    fn tools(&self) -> &'static [CompatTool] {
        &[
            CompatTool {
                name: EXECUTE_TOOL_PLAN,
                condition: Condition::Always,
                handler: CompatHandler::Execute,
            },
            STAGE_TOOL,
        ]
    }

    fn definitions(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value> {
        let mut description = DESCRIPTION.to_owned();
        if !context.tools.is_empty() {
            description.push_str("\n\nTools:");
        }
        for tool in &context.tools {
            let _ = write!(description, "\n{}", signature(tool));
        }
        vec![json!({
            "name": EXECUTE_TOOL_PLAN,
            "description": description,
            "inputSchema": {"type": "object", "properties": {
                "steps": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "tool": {"type": "string"},
                        "arguments": {"type": "string"}
                    },
                    "required": ["id", "tool", "arguments"],
                    "additionalProperties": false
                }},
                "output_steps": {"type": "array", "items": {"type": "string"}}
            }, "required": ["steps"], "additionalProperties": false}
        })]
    }

    fn plan(&self, arguments: &Value) -> Result<SubmittedPlan, BadRequest> {
        super::tools::plan_of_steps(arguments, "agentle", EXECUTE_TOOL_PLAN)
    }

    /// Returns the results of the selected steps, in the order of the selection; then the failures of other steps, which would be lost otherwise.
    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value {
        let mut results = Object::default();
        for step in selected_steps(outcome) {
            let result = match &step.output {
                Some(output) if step.status == StepStatus::Succeeded => outcome.abbreviate(output),
                _ => failure(outcome, step),
            };
            results.insert(step.at.to_string().into(), result);
        }
        for step in outcome.steps() {
            let name: Arc<str> = step.at.to_string().into();
            let is_news = !matches!(step.status, StepStatus::Succeeded | StepStatus::Skipped);
            if is_news && !results.contains_key(&name) {
                results.insert(name, failure(outcome, step));
            }
        }
        results.into()
    }
}

fn selected_steps<'a>(outcome: &ProfileOutcome<'a>) -> Vec<&'a StepSummary> {
    match outcome.plan.map(|plan| &plan.output) {
        Some(Output::Steps(names)) => names
            .iter()
            .filter_map(|name| {
                outcome
                    .steps()
                    .find(|step| *step.at.step.text() == name.text)
            })
            .collect(),
        Some(Output::All | Output::Value(_)) | None => outcome.steps().collect(),
    }
}

fn failure(outcome: &ProfileOutcome<'_>, step: &StepSummary) -> Value {
    // Agentle's own words, which its prompts explain.
    let skipped_for = step
        .reason
        .as_ref()
        .filter(|reason| step.status == StepStatus::Skipped && reason.because == SkipKind::Step);
    let reason = match skipped_for {
        Some(reason) => format!("Skipped because dependency {} failed", reason.of),
        None => outcome.failure_reason(step),
    };
    Value::object([("error", Value::from(reason))])
}
