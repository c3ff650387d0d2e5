//! The compatibility profile of mcp-cli: `plan_execute`, and with a model that writes plans `plan_create` and `plan_create_and_execute`.

use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::plan::InputKind;
use planwright_core::{Object, Plan, Value};
use planwright_engine::run::{StepStatus, StepSummary};
use planwright_store::StoredPlan;
use serde_json::json;

use super::tools::ProfileOutcome;
use super::tools::{
    CompatHandler, CompatTool, DescriptionContext, ProfileTools, STAGE_TOOL, SubmittedPlan,
};
use crate::response::answer;
use crate::tools::Condition;
use crate::tools::arguments::{BadRequest, GatewayArguments};

pub(super) const PLAN_EXECUTE: &str = "plan_execute";
pub(super) const PLAN_CREATE: &str = "plan_create";
pub(super) const PLAN_CREATE_AND_EXECUTE: &str = "plan_create_and_execute";

/// The maximum number of plans that a description lists.
const MAX_LISTED_PLANS: usize = 40;

/// The profile of mcp-cli, with its tools for plans.
pub(super) struct McpCliProfile;

impl ProfileTools for McpCliProfile {
    fn tools(&self) -> &'static [CompatTool] {
        &[
            CompatTool {
                name: PLAN_EXECUTE,
                condition: Condition::Always,
                handler: CompatHandler::Execute,
            },
            CompatTool {
                name: PLAN_CREATE_AND_EXECUTE,
                condition: Condition::PlanWriter,
                handler: CompatHandler::Create,
            },
            CompatTool {
                name: PLAN_CREATE,
                condition: Condition::PlanWriter,
                handler: CompatHandler::Create,
            },
            STAGE_TOOL,
        ]
    }

    fn definitions(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value> {
        let mut entries: Vec<serde_json::Value> = Vec::new();
        if context.creates {
            entries.extend([
                definition_of_create(PLAN_CREATE_AND_EXECUTE, "Have a plan written for a goal, check it and run it: its steps call tools, side by side where they do not need each other. What comes back is what the plan selects, and how each step went. For one call alone, call the tool itself."),
                definition_of_create(PLAN_CREATE, "Have a plan written for a goal and checked, without running it: its id, and its steps. plan_execute runs it."),
            ]);
        }
        entries.push(json!({
            "name": PLAN_EXECUTE,
            "description": description(&context.saved),
            "inputSchema": {"type": "object", "properties": {
                "plan_id": {"type": "string", "description": "the plan's id or name"}
            }, "required": ["plan_id"]}
        }));
        entries
    }

    fn plan(&self, arguments: &Value) -> Result<SubmittedPlan, BadRequest> {
        let names = ["plan_id", "plan", "variables"];
        let request = GatewayArguments::read(PLAN_EXECUTE, arguments, &names)?;
        let inputs = request.object("variables")?.unwrap_or_default();
        let Some(plan) = request.get("plan") else {
            let name: Arc<str> = request.text("plan_id")?.into();
            return Ok(SubmittedPlan::Stored { name, inputs });
        };
        Ok(SubmittedPlan::Plan {
            text: match plan {
                Value::Text(text) => text.to_string(),
                other => other.to_json(),
            },
            dialect: Some("mcp-cli"),
            inputs,
        })
    }

    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value {
        let summary = outcome.summary;
        let is_done = |step: &&StepSummary| step.status == StepStatus::Succeeded;
        let done = outcome.steps().filter(is_done).count();
        let id: Arc<str> = match &summary.plan {
            Some(plan) => Arc::clone(plan),
            None => summary.run.clone().into(),
        };
        let title = outcome.plan.and_then(|plan| plan.title.as_ref());
        let hundredths = (summary.duration.as_secs_f64() * 100.0).round();
        let steps: Vec<Value> = outcome
            .steps()
            .map(|step| describe_step(outcome, step))
            .collect();
        let mut fields = Object::default();
        let known = [
            ("success", Value::from(outcome.is_success())),
            ("plan_id", Value::Text(Arc::clone(&id))),
            ("title", Value::Text(Arc::clone(title.unwrap_or(&id)))),
            ("duration", Value::from(hundredths / 100.0)),
            ("steps_completed", Value::from(done as u64)),
            ("steps_total", Value::from(summary.steps.len() as u64)),
        ];
        fields.extend(known.map(|(name, value)| (Arc::from(name), value)));
        if let Some(error) = error(outcome) {
            fields.insert("error".into(), Value::from(error));
        }
        let results = if outcome.plan.is_some_and(has_variables) {
            &summary.vars
        } else {
            &summary.output
        };
        fields.insert("results".into(), outcome.abbreviate_fields(results));
        fields.insert("steps".into(), steps.into());
        fields.into()
    }
}

fn definition_of_create(name: &str, description: &str) -> serde_json::Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {
            "goal": {"type": "string", "description": "what is wanted, in words"}
        }, "required": ["goal"]}
    })
}

/// Returns the answer about a plan that was written: its id, and its steps.
pub(super) fn created_plan_answer(id: &Arc<str>, goal: &str, plan: &Plan) -> Value {
    let steps = plan.steps.iter().map(|step| {
        let tool = step
            .tool()
            .map(|name| Arc::clone(&name.text))
            .unwrap_or_default();
        let title = step.title.clone().unwrap_or_else(|| Arc::clone(&tool));
        Value::object([
            ("index", Value::Text(Arc::clone(step.id.text()))),
            ("title", Value::Text(title)),
            ("tool", Value::Text(tool)),
        ])
    });
    let title = plan.title.clone().or_else(|| plan.name.clone());
    let answered = Value::object([
        ("success", Value::from(true)),
        ("plan_id", Value::Text(Arc::clone(id))),
        ("title", Value::Text(title.unwrap_or_else(|| goal.into()))),
        ("steps", Value::list(steps)),
    ]);
    let text = answered.to_json();
    answer::in_form_of_profile(answered, text, (Vec::new(), None), false)
}

/// Returns true if the plan keeps results in variables. Otherwise its selection is its result.
fn has_variables(plan: &Plan) -> bool {
    let mut inputs = plan.inputs.iter();
    inputs.any(|input| input.kind == InputKind::Variable)
        || plan.steps.iter().any(|step| step.writes.is_some())
}

/// Returns the reason why the plan has not succeeded.
fn error(outcome: &ProfileOutcome<'_>) -> Option<String> {
    if outcome.is_success() {
        return None;
    }
    let troubles: Vec<String> = outcome
        .steps()
        .filter(|step| {
            let is_of_others = matches!(
                step.status,
                StepStatus::Succeeded | StepStatus::Skipped | StepStatus::NotRun
            );
            !is_of_others && !step.handled
        })
        .map(|step| format!("step {}: {}", step.at, outcome.failure_reason(step)))
        .collect();
    if troubles.is_empty() {
        return Some(outcome.summary.status.as_str().to_owned());
    }
    Some(troubles.join("; "))
}

fn describe_step(outcome: &ProfileOutcome<'_>, step: &StepSummary) -> Value {
    let id = step.at.step.text();
    let written = outcome.plan.and_then(|plan| {
        let mut steps = plan.steps.iter();
        steps.find(|written| written.id.text() == id)
    });
    let title = written.and_then(|written| written.title.as_ref());
    let tool = step.tool.clone().unwrap_or_default();
    let error = if step.status == StepStatus::Succeeded {
        Value::Null
    } else {
        Value::from(outcome.failure_reason(step))
    };
    Value::object([
        ("index", Value::from(step.at.to_string())),
        (
            "title",
            Value::Text(title.cloned().unwrap_or_else(|| Arc::clone(&tool))),
        ),
        ("tool", Value::Text(tool)),
        ("success", Value::from(step.status == StepStatus::Succeeded)),
        ("error", error),
    ])
}

/// Returns the description of the tool, with the stored plans.
fn description(saved: &[StoredPlan]) -> String {
    let mut text = "Run a plan that was saved, by its id or its name: its steps call tools, side by side where they do not need each other. What comes back is its variables at the end, and how each step went.".to_owned();
    if saved.is_empty() {
        return text;
    }
    text.push_str("\n\nPlans:");
    for plan in saved.iter().take(MAX_LISTED_PLANS) {
        let _ = write!(text, "\n{} ({})", plan.name, plan.id);
        let needed = required_inputs(&plan.inputs);
        if !needed.is_empty() {
            let _ = write!(text, ", needs `variables`: {}", needed.join(", "));
        }
    }
    if saved.len() > MAX_LISTED_PLANS {
        let _ = write!(text, "\n… {} more", saved.len() - MAX_LISTED_PLANS);
    }
    text
}

/// Returns the inputs that a plan requires.
fn required_inputs(inputs: &Value) -> Vec<&str> {
    let inputs = inputs.as_list().unwrap_or_default().iter();
    inputs
        .filter(|input| input.get("required").and_then(Value::as_bool) == Some(true))
        .filter_map(|input| input.get("name").and_then(Value::as_text))
        .collect()
}
