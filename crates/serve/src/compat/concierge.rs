//! The compat profile of Concierge: `execute_plan`.

use std::fmt::Write as _;

use planwright_core::{Object, Value};
use planwright_engine::run::StepStatus;
use serde_json::json;

use super::stage_tools::{PROCEED, TERMINATE};
use super::{
    CompatHandler, CompatTool, DescriptionContext, MARK, ProfileOutcome, ProfileTools,
    SubmittedPlan,
};
use crate::signatures::signature;
use crate::tools::Condition;
use crate::tools::arguments::BadRequest;

const EXECUTE_PLAN: &str = "execute_plan";

const DESCRIPTION: &str = r#"Run one or more tool calls as one plan. The steps run one after the other, in the order in which they are listed, and the first failure ends the plan. A step has an `id`, a `tool`, and its `args`.

In the place of a value, a parameter that is [sharable] takes a reference to what an earlier step gave: an object with the one key `output_by_reference`, which holds the step and the path to follow in its output.

{"output_by_reference": {"found": []}}  all that `found` gave
{"output_by_reference": {"found": ["items", 0, "name"]}}  `name` of the first of its `items`

{"steps": [
  {"id": "found", "tool": "find_city", "args": {"name": "Oslo"}},
  {"id": "weather", "tool": "get_weather", "args": {"lat": {"output_by_reference": {"found": ["lat"]}}, "day": "2026-06-21"}}
]}

All results come back, so a plan may do the part that is clear, and another one what follows from it."#;

/// Concierge, as its Plan backend shows itself.
pub(super) struct Concierge;

impl ProfileTools for Concierge {
    fn tools(&self) -> &'static [CompatTool] {
        &[
            CompatTool {
                name: EXECUTE_PLAN,
                condition: Condition::Always,
                handler: CompatHandler::Execute,
            },
            CompatTool {
                name: PROCEED,
                condition: Condition::Stages,
                handler: CompatHandler::Proceed,
            },
            CompatTool {
                name: TERMINATE,
                condition: Condition::Stages,
                handler: CompatHandler::Terminate,
            },
        ]
    }

    fn definitions(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value> {
        vec![json!({
            "name": EXECUTE_PLAN,
            "title": "Plan Execution",
            "description": description(context),
            "inputSchema": {"type": "object", "properties": {
                "steps": {"type": "array", "minItems": 1, "items": {
                    "type": "object",
                    "required": ["id", "tool", "args"],
                    "properties": {
                        "id": {"type": "string"},
                        "tool": {"type": "string"},
                        "args": {"type": "object", "additionalProperties": true}
                    },
                    "additionalProperties": false
                }}
            }, "required": ["steps"]}
        })]
    }

    fn plan(&self, arguments: &Value) -> Result<SubmittedPlan, BadRequest> {
        super::handler::plan_of_steps(arguments, "concierge", EXECUTE_PLAN)
    }

    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value {
        let mut steps = Object::default();
        for step in outcome.steps() {
            let became = match step.status {
                StepStatus::Succeeded => {
                    let result = step.output.as_ref().map(|output| outcome.shown(output));
                    [
                        ("status", Value::from("ok")),
                        ("result", result.unwrap_or_default()),
                    ]
                }
                // After a failure nothing is said of what comes later.
                StepStatus::Skipped | StepStatus::NotRun => continue,
                _ => [
                    ("status", Value::from("error")),
                    ("error", Value::from(outcome.failure_reason(step))),
                ],
            };
            steps.insert(step.at.to_string().into(), Value::object(became));
        }
        let status = if outcome.is_success() {
            "completed"
        } else {
            "partial"
        };
        Value::object([("status", Value::from(status)), ("steps", steps.into())])
    }

    fn text(&self, answer: &Value) -> String {
        serde_json::to_string_pretty(answer).unwrap_or_else(|_| answer.to_json())
    }
}

/// Returns the description of the tool, with the tools that plans may call.
fn description(context: &DescriptionContext<'_>) -> String {
    let mut text = DESCRIPTION.to_owned();
    if !context.marks_sharing {
        text.push_str(" All parameters are [sharable].");
    }
    if !context.tools.is_empty() {
        text.push_str("\n\nTools:");
    }
    for tool in &context.tools {
        let _ = write!(text, "\n{}", signature(tool));
        let marked = sharable(tool.input.as_value());
        if !marked.is_empty() {
            let _ = write!(text, " [sharable: {}]", marked.join(", "));
        }
    }
    text
}

/// The parameters that take references, or have parts that do.
fn sharable(schema: &Value) -> Vec<&str> {
    let parameters = schema.get("properties").and_then(Value::as_object);
    let parameters = parameters.into_iter().flatten();
    let marked = parameters.filter(|(_, described)| takes_references(described));
    marked.map(|(name, _)| &**name).collect()
}

fn takes_references(described: &Value) -> bool {
    match described {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            (&**name == MARK && *value == Value::from(true)) || takes_references(value)
        }),
        Value::List(items) => items.iter().any(takes_references),
        _ => false,
    }
}
