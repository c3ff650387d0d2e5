//! The stages of clients of Concierge: `proceed_to_next_stage` and `terminate_session`.

use planwright_core::Value;
use planwright_mcp::gateway::{GatewayClient, HostCall};
use serde_json::json;

use crate::host::PlanHost;
use crate::response::answer;
use crate::tools::arguments::{BadRequest, GatewayArguments};

pub(super) const PROCEED: &str = "proceed_to_next_stage";
pub(super) const TERMINATE: &str = "terminate_session";

impl PlanHost {
    /// The tools for stages, where there are stages. At the end of the way there is no next one.
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
                    "Go on to another stage of the work, which has other tools. The stage is `{}` now.",
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

    /// `proceed_to_next_stage`
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
            return Ok(said(
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
            "this is the last stage: do what is left to do, then sum up"
        } else {
            "there are other tools now: use them, and go on until the last stage"
        };
        Ok(said(
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

    /// `terminate_session`
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
        Ok(said(
            [
                ("status", Value::from("terminated")),
                ("previous_stage", Value::Text(before)),
                ("message", Value::from(message)),
            ],
            false,
        ))
    }
}

fn said<const N: usize>(fields: [(&'static str, Value); N], is_error: bool) -> Value {
    let answered = Value::object(fields);
    let text = serde_json::to_string_pretty(&answered).unwrap_or_else(|_| answered.to_json());
    answer::in_form_of_profile(answered, text, (Vec::new(), None), is_error)
}
