//! The compat profile of Concierge: `execute_plan`.

use std::fmt::Write as _;

use planwright_core::{Object, Tool, Value};
use planwright_engine::run::StepStatus;
use planwright_mcp::gateway::{GatewayClient, HostCall};
use serde_json::json;

use super::tools::{
    CompatHandler, CompatTool, DescriptionContext, ProfileOutcome, ProfileTools, SubmittedPlan,
};
use crate::host::PlanHost;
use crate::response::answer;
use crate::signatures::signature;
use crate::tools::Condition;
use crate::tools::arguments::{BadRequest, GatewayArguments};
use crate::tools::snapshot::MARK;

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

/// The profile of Concierge, with the tool of its Plan backend.
pub(super) struct ConciergeProfile;

impl ProfileTools for ConciergeProfile {
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
        super::tools::plan_of_steps(arguments, "concierge", EXECUTE_PLAN)
    }

    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value {
        let mut steps = Object::default();
        for step in outcome.steps() {
            let became = match step.status {
                StepStatus::Succeeded => {
                    let result = step
                        .output
                        .as_ref()
                        .map(|output| outcome.abbreviate(output));
                    [
                        ("status", Value::from("ok")),
                        ("result", result.unwrap_or_default()),
                    ]
                }
                // After a failure, later steps are not reported.
                StepStatus::Skipped | StepStatus::NotRun => continue,
                StepStatus::Failed
                | StepStatus::Cancelled
                | StepStatus::Waiting
                | StepStatus::Unknown => [
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
        let marked = sharable_parameters(tool);
        if !marked.is_empty() {
            let _ = write!(text, " [sharable: {}]", marked.join(", "));
        }
    }
    text
}

/// Returns the parameters that take references, or have parts that do.
fn sharable_parameters(tool: &Tool) -> Vec<&str> {
    let schema = tool.input.as_value();
    let parameters = schema.get("properties").and_then(Value::as_object);
    let parameters = parameters.into_iter().flatten();
    let marked = parameters
        .filter(|(name, described)| tool.sharable.contains(*name) || takes_references(described));
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

pub(super) const PROCEED: &str = "proceed_to_next_stage";
pub(super) const TERMINATE: &str = "terminate_session";

impl PlanHost {
    /// Returns the definitions of the tools for stages, if stages exist. The last stage has no next one.
    pub(super) fn concierge_stage_definitions(
        &self,
        client: &GatewayClient,
    ) -> Vec<serde_json::Value> {
        let definitions = self.stage(&client.id, |stages| {
            let current = stages.current();
            let mut definitions = Vec::new();
            if !current.next.is_empty() {
                let next: Vec<&str> = current.next.iter().map(|name| &**name).collect();
                let description = format!(
                    "Move to another stage of the work, which has other tools. The current stage is `{}`.",
                    current.name
                );
                definitions.push(json!({
                    "name": PROCEED,
                    "description": description,
                    "inputSchema": {"type": "object", "properties": {
                        "target_stage": {"type": "string", "enum": next}
                    }, "required": ["target_stage"], "additionalProperties": false}
                }));
            }
            definitions.push(json!({
                "name": TERMINATE,
                "description": "Start over: back to the first stage, with nothing known. For when the user wants to begin again, to do something else or to stop, or when the work is done.",
                "inputSchema": {"type": "object", "properties": {}, "required": [], "additionalProperties": false}
            }));
            definitions
        });
        definitions.unwrap_or_default()
    }

    /// Handles `proceed_to_next_stage`.
    pub(super) fn proceed(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let request = GatewayArguments::read(PROCEED, &call.arguments, &["target_stage", "known"])?;
        let to = request.text("target_stage")?;
        let known = request.object("known")?.unwrap_or_default();
        let moved = self.stage(&call.client.id, |stages| {
            let before = stages.clone();
            for (name, value) in known {
                stages.tell(name, value);
            }
            let moved = stages.move_to(to);
            if moved.is_err() {
                *stages = before.clone();
            }
            (moved, before, stages.current().clone())
        });
        let Some((moved, before, current)) = moved else {
            return Err(BadRequest("there are no stages".to_owned()));
        };
        let names = |stages: &[std::sync::Arc<str>]| {
            Value::list(stages.iter().map(|name| Value::Text(name.clone())))
        };
        let from = Value::Text(before.current().name.clone());
        if let Err(error) = moved {
            let message = format!("{error}; {}", error.help());
            return Ok(response(
                [
                    ("error", Value::from(message)),
                    ("allowed_transitions", names(&before.current().next)),
                    ("current_stage", from),
                ],
                true,
            ));
        }
        self.announce();
        let to = &current.name;
        let instruction = if current.next.is_empty() {
            "this is the last stage: finish the work, then summarize it"
        } else {
            "the tools have changed: use them, and continue until the last stage"
        };
        Ok(response(
            [
                ("status", Value::from("transitioned")),
                ("from_stage", from),
                ("to_stage", Value::Text(to.clone())),
                ("message", Value::from(format!("the stage is `{to}` now"))),
                ("instruction", Value::from(instruction)),
            ],
            false,
        ))
    }

    /// Handles `terminate_session`.
    pub(super) fn terminate(&self, call: &HostCall) -> Result<Value, BadRequest> {
        GatewayArguments::read(TERMINATE, &call.arguments, &[])?;
        let went = self.stage(&call.client.id, |stages| {
            let before = stages.current().name.clone();
            stages.restart();
            (before, stages.current().name.clone())
        });
        let Some((before, first)) = went else {
            return Err(BadRequest("there are no stages".to_owned()));
        };
        self.announce();
        let message = format!("the stage is `{first}` again, and nothing is known");
        Ok(response(
            [
                ("status", Value::from("terminated")),
                ("previous_stage", Value::Text(before)),
                ("message", Value::from(message)),
            ],
            false,
        ))
    }
}

fn response<const N: usize>(fields: [(&'static str, Value); N], is_error: bool) -> Value {
    let answered = Value::object(fields);
    let text = serde_json::to_string_pretty(&answered).unwrap_or_else(|_| answered.to_json());
    answer::in_form_of_profile(answered, text, (Vec::new(), None), is_error)
}
