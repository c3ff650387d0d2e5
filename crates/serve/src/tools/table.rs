//! The table of the gateway's own tools, with their definitions in `tools/list`, which are short because each conversation pays
//! for every word.

use std::fmt::Write as _;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{GatewayClient, HostCall};
use serde_json::json;

use crate::host::PlanHost;
use crate::settings::GatewayMode;
use crate::signatures::listing;
use crate::tools::arguments::BadRequest;
use crate::tools::snapshot::ToolSnapshot;
use crate::view;

const EXECUTE_PLAN: &str = "execute_plan";
const CREATE_PLAN: &str = "create_plan";
const CHECK_PLAN: &str = "check_plan";
const RESUME_PLAN: &str = "resume_plan";
const REVERT_RUN: &str = "revert_run";
const GET_RUN: &str = "get_run";
const SEARCH_TOOLS: &str = "search_tools";
const DESCRIBE_TOOLS: &str = "describe_tools";
const CALL_TOOL: &str = "call_tool";
pub(crate) const MOVE_TO_STAGE: &str = "move_to_stage";

/// An entry of the table: a tool of the gateway.
pub(crate) struct GatewayTool {
    pub(crate) name: &'static str,
    /// The modes that have the tool.
    modes: &'static [GatewayMode],
    /// The condition beyond the mode.
    condition: Condition,
    definition: Definition,
    handler: Handler,
}

/// A condition, beyond the mode, under which a tool exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    /// A model writes plans for the client.
    PlanWriter,
    /// The configuration has stages.
    Stages,
    /// The client shows the page of runs as a view.
    Views,
}

/// Builds the definition of a tool for `tools/list`, from the mode and the list of tools that plans may call.
enum Definition {
    Fixed(fn() -> serde_json::Value),
    Listing(fn(GatewayMode, &str) -> serde_json::Value),
    /// Depends on the stage of the client.
    Stage,
}

type Handler = fn(Arc<PlanHost>, HostCall) -> BoxFuture<'static, Result<Value, CallFailure>>;

/// The failure of a call of one of the gateway's own tools.
pub(crate) enum CallFailure {
    /// The client gets an error response of its compat profile.
    Refused(BadRequest),
    /// The client gets a protocol error.
    Upstream(UpstreamError),
}

impl From<BadRequest> for CallFailure {
    fn from(error: BadRequest) -> Self {
        Self::Refused(error)
    }
}

const PLANS: &[GatewayMode] = &[GatewayMode::Plan, GatewayMode::PlainWithPlans];
const SEARCH: &[GatewayMode] = &[GatewayMode::Search];
const PLANS_AND_SEARCH: &[GatewayMode] = &[
    GatewayMode::Plan,
    GatewayMode::PlainWithPlans,
    GatewayMode::Search,
];
const ALL: &[GatewayMode] = &[
    GatewayMode::Plan,
    GatewayMode::PlainWithPlans,
    GatewayMode::Search,
    GatewayMode::Plain,
];

/// All tools, in the order in which clients see those of their mode.
static TOOLS: [GatewayTool; 12] = [
    GatewayTool {
        name: EXECUTE_PLAN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Listing(|_, listed| execute_plan(listed)),
        handler: |host, call| Box::pin(async move { Ok(host.execute(&call).await?) }),
    },
    GatewayTool {
        name: CHECK_PLAN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(check_plan),
        handler: |host, call| Box::pin(async move { Ok(host.check(&call).await?) }),
    },
    GatewayTool {
        name: SEARCH_TOOLS,
        modes: PLANS_AND_SEARCH,
        condition: Condition::Always,
        definition: Definition::Listing(search_tools),
        handler: |host, call| Box::pin(async move { Ok(host.search(&call).await?) }),
    },
    GatewayTool {
        name: DESCRIBE_TOOLS,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(describe_tools),
        handler: |host, call| Box::pin(async move { Ok(host.describe(&call).await?) }),
    },
    GatewayTool {
        name: CALL_TOOL,
        modes: SEARCH,
        condition: Condition::Always,
        definition: Definition::Fixed(call_tool),
        handler: |host, call| {
            Box::pin(async move { host.call_tool(&call).await.map_err(CallFailure::Upstream) })
        },
    },
    GatewayTool {
        name: RESUME_PLAN,
        modes: PLANS_AND_SEARCH,
        condition: Condition::Always,
        definition: Definition::Listing(resume),
        handler: |host, call| Box::pin(async move { Box::pin(host.resume(&call)).await }),
    },
    GatewayTool {
        name: REVERT_RUN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(revert_run),
        handler: |host, call| Box::pin(async move { Ok(Box::pin(host.revert(&call)).await?) }),
    },
    GatewayTool {
        name: GET_RUN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(get_run),
        handler: |host, call| Box::pin(async move { host.get_run(&call).await }),
    },
    GatewayTool {
        name: CREATE_PLAN,
        modes: PLANS,
        condition: Condition::PlanWriter,
        definition: Definition::Fixed(create_plan),
        handler: |host, call| Box::pin(async move { Ok(host.create_plan(&call).await?) }),
    },
    GatewayTool {
        name: MOVE_TO_STAGE,
        modes: ALL,
        condition: Condition::Stages,
        definition: Definition::Stage,
        handler: |host, call| Box::pin(async move { Ok(host.move_to_stage(&call)?) }),
    },
    GatewayTool {
        name: view::READ_VIEW,
        modes: PLANS,
        condition: Condition::Views,
        definition: Definition::Fixed(view::read_run_view),
        handler: |host, call| Box::pin(async move { Ok(host.read_view(&call).await?) }),
    },
    GatewayTool {
        name: view::DECIDE_CALL,
        modes: PLANS,
        condition: Condition::Views,
        definition: Definition::Fixed(view::decide_call),
        handler: |host, call| Box::pin(async move { Ok(host.decide_call(&call).await?) }),
    },
];

impl GatewayTool {
    /// Returns the tools that `client` sees, in order.
    fn of_client<'a>(
        host: &'a PlanHost,
        client: &'a GatewayClient,
    ) -> impl Iterator<Item = &'static Self> {
        let mode = host.settings.mode;
        let tools = TOOLS.iter().filter(move |tool| tool.modes.contains(&mode));
        tools.filter(|tool| host.meets(client, tool.condition))
    }

    /// Returns true if `client` sees a tool called `name`.
    pub(crate) fn is_visible(host: &PlanHost, client: &GatewayClient, name: &str) -> bool {
        Self::of_client(host, client).any(|tool| tool.name == name)
    }

    /// Returns true if any client may see a tool called `name`.
    pub(crate) fn is_reserved(host: &PlanHost, name: &str) -> bool {
        TOOLS.iter().any(|tool| {
            tool.name == name
                && tool.modes.contains(&host.settings.mode)
                && host.can_meet(tool.condition)
        })
    }

    /// Returns the definitions of the tools that `client` sees, as `tools/list` writes them.
    pub(crate) fn definitions(host: &PlanHost, client: &GatewayClient) -> Vec<Value> {
        let mode = host.settings.mode;
        let listed = match mode {
            // No description of this mode lists tools.
            GatewayMode::Plain => String::new(),
            GatewayMode::Plan | GatewayMode::PlainWithPlans | GatewayMode::Search => {
                callable_tools(host, client, &host.tools_of(client))
            }
        };
        let mut all = Vec::new();
        for tool in Self::of_client(host, client) {
            let mut definition = match tool.definition {
                Definition::Fixed(build) => build(),
                Definition::Listing(build) => build(mode, &listed),
                Definition::Stage => {
                    all.extend(host.stage_definitions(client));
                    continue;
                }
            };
            if Self::has_view(tool.name) && host.page_for(client).is_some() {
                view::with_view(&mut definition);
            }
            all.push(Value::from(definition));
        }
        all
    }

    /// Returns true if clients show the page of runs beside the results of the tool `name`.
    pub(crate) fn has_view(name: &str) -> bool {
        matches!(name, EXECUTE_PLAN | CHECK_PLAN | GET_RUN)
    }

    /// Calls the tool that `call` names.
    pub(crate) async fn call(host: Arc<PlanHost>, call: HostCall) -> Result<Value, CallFailure> {
        // The gateway asks `Host::owns` before it calls, so the mode was checked there.
        let tool = TOOLS.iter().find(|tool| tool.name == call.name);
        let tool = tool.filter(|tool| {
            tool.condition != Condition::PlanWriter || host.offers_create_plan(&call.client)
        });
        match tool {
            Some(tool) => (tool.handler)(host, call).await,
            None => Err(CallFailure::Upstream(UpstreamError::new(
                UpstreamError::INVALID,
                format!("unknown tool `{}`", call.name),
            ))),
        }
    }
}

impl PlanHost {
    /// Returns true if `condition` is met for `client`.
    pub(crate) fn meets(&self, client: &GatewayClient, condition: Condition) -> bool {
        match condition {
            Condition::PlanWriter => self.has_plan_writer(client),
            Condition::Views => self.page_for(client).is_some(),
            Condition::Always | Condition::Stages => self.can_meet(condition),
        }
    }

    /// Returns true if a condition holds for any client.
    pub(crate) fn can_meet(&self, condition: Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::PlanWriter => self.settings.writer.is_some(),
            Condition::Views => self.settings.page.is_some(),
            Condition::Stages => !self.settings.config.stages().is_empty(),
        }
    }
}

const EXECUTE: &str = r#"Run a plan: a graph of tool calls in one request. Steps run in parallel as soon as their own data is there. Prefer one plan to many calls.

{"plan": {"steps": [
  {"id": "found", "tool": "geo.list_cities", "args": {"country": "JP"}},
  {"id": "weather", "for_each": "${found.cities}", "tool": "meteo.get_weather", "args": {"city": "${item.name}"}},
  {"id": "warmest", "value": "${weather.filter(w, w.temp > 30)}"},
  {"id": "warn", "when": "${size(warmest) > 0}", "tool": "chat.notify", "args": {"text": "Hot: ${warmest[*].city}"}}],
 "output": ["warmest"]}}

Tools are named `server.tool`, as listed. `${step.path}` refers to an earlier result: the object that `->` shows, or else the text or JSON that the tool returns; `[*]` is a part of all items, `a ?? b` the first that exists. Between `${}` may stand any CEL expression: `c ? a : b`, `size(x) / 2.0` (`/` of whole numbers is whole), `x.map(i, …)`, `x.join(", ")`. Steps may also have "on_error": "continue", "retry": {"attempts": 3}, "timeout": "30s". Results of earlier runs: `${runs.RUN.step.path}`.
Only `output` comes back: ids of steps, or any value with references. Without it, all results come: small ones whole, of large ones the size. `waiting` means that a person has to decide about a call: do not hand the plan over again; resume_plan resumes the run once the person has decided."#;

/// The description of steps with `extract`, for clients with a model that reads texts.
const EXTRACTS: &str = r#"
A step with "extract" has a model read a text, so that you need not: {"id": "bill", "extract": {"from": "${page.text}", "schema": {"type": "object", "properties": {"total": {"type": "number"}}}, "ask": "what is to pay"}}"#;

/// Returns the instructions for clients that connect.
pub(crate) fn instructions(mode: GatewayMode) -> Option<String> {
    let text = match mode {
        GatewayMode::Plan | GatewayMode::PlainWithPlans => {
            "Hand over several tool calls as one plan with execute_plan. search_tools finds the tools that plans may call, describe_tools returns the full definitions of tools."
        }
        GatewayMode::Search => "search_tools finds tools, call_tool calls one.",
        GatewayMode::Plain => return None,
    };
    Some(text.to_owned())
}

/// Renders the list of the tools that plans of this client may call, for the description of a tool.
fn callable_tools(host: &PlanHost, client: &GatewayClient, snapshot: &ToolSnapshot) -> String {
    let policy = host.policy(client);
    let open = snapshot
        .catalog
        .tools()
        .filter(|tool| policy.objection(tool).is_none());
    let mut listed = listing(open, host.settings.listing_tokens).text;
    for server in host.upstreams.view().starting() {
        let _ = write!(listed, "\nThe server `{server}` is still starting.");
    }
    if host.settings.mode.takes_plans() && host.extracts_for(client) {
        listed += EXTRACTS;
    }
    listed
}

impl PlanHost {
    /// Returns the definition of the tool that moves a client between stages, if stages exist.
    pub(crate) fn stage_definitions(&self, client: &GatewayClient) -> Vec<Value> {
        let entry = self.stage(&client.id, |stages| {
            let names: Vec<&str> = stages.all().iter().map(|stage| &*stage.name).collect();
            let description = format!(
                "Move to another stage of the work, which has other tools. The stage is `{}` now. `known`: what the stage needs to know.",
                stages.current().name
            );
            json!({
                "name": MOVE_TO_STAGE,
                "title": "Move to a stage",
                "description": description,
                "inputSchema": {"type": "object", "properties": {
                    "stage": {"type": "string", "enum": names},
                    "known": {"type": "object"}
                }, "required": ["stage"]},
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}
            })
        });
        entry.map(Value::from).into_iter().collect()
    }
}

/// Returns the schema of a plan as an argument. As an object it needs fewer quotes than as a text.
fn plan() -> serde_json::Value {
    json!({"type": "object", "properties": {
        "steps": {"type": "array", "items": {"type": "object", "properties": {
            "id": {"type": "string"},
            "tool": {"type": "string"},
            "args": {"type": "object", "additionalProperties": true},
            "value": {},
            "for_each": {},
            "when": {},
            "after": {"type": "array", "items": {"type": "string"}}
        }, "additionalProperties": true}},
        "output": {}
    }, "additionalProperties": true})
}

/// Returns the output schema of a run.
fn outcome() -> serde_json::Value {
    let list = json!({"type": "array", "items": {"type": "object"}});
    json!({"type": "object", "properties": {
        "status": {"type": "string", "enum": ["succeeded", "failed", "waiting", "cancelled", "rejected", "running", "interrupted", "sound"]},
        "run": {"type": "string"},
        "output": {},
        "done": {"type": "array", "items": {"type": "string"}},
        "errors": list, "rerun": list, "skipped": list, "waiting": list, "unknown": list, "findings": list, "steps": {},
        "message": {"type": "string"},
        "next": {"type": "string"}
    }, "required": ["status"], "additionalProperties": true})
}

pub(super) fn execute_plan(listed: &str) -> serde_json::Value {
    let description = if listed.is_empty() {
        EXECUTE.to_owned()
    } else {
        format!("{EXECUTE}\n\nTools:\n{listed}")
    };
    json!({
        "name": EXECUTE_PLAN,
        "title": "Run a plan",
        "description": description,
        "inputSchema": {"type": "object", "properties": {
            "plan": plan(),
            "inputs": {"type": "object"}
        }, "required": ["plan"]},
        "outputSchema": outcome(),
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
    })
}

/// Returns the definition of the tool that has a model write plans.
pub(super) fn create_plan() -> serde_json::Value {
    json!({
        "name": CREATE_PLAN,
        "title": "Have a plan written",
        "description": "Have a plan written and checked for what you want, in words. `run`: run it as well.",
        "inputSchema": {"type": "object", "properties": {
            "goal": {"type": "string"},
            "context": {"type": "object", "description": "what is known: semantic, episodic, entities"},
            "run": {"type": "boolean"}
        }, "required": ["goal"]},
        "outputSchema": outcome(),
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
    })
}

pub(super) fn check_plan() -> serde_json::Value {
    json!({
        "name": CHECK_PLAN,
        "title": "Check a plan",
        "description": "Check a plan without running it. Nothing is called.",
        "inputSchema": {"type": "object", "properties": {
            "plan": {"type": "object"},
            "inputs": {"type": "object"}
        }, "required": ["plan"]},
        "outputSchema": outcome(),
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

/// Returns the definition of `resume_plan`. Clients of [`GatewayMode::Search`] submit no plans: their calls that wait for a
/// decision are runs.
pub(super) fn resume(mode: GatewayMode, _: &str) -> serde_json::Value {
    match mode {
        GatewayMode::Search => resume_call(),
        GatewayMode::Plan | GatewayMode::PlainWithPlans | GatewayMode::Plain => resume_plan(),
    }
}

fn resume_plan() -> serde_json::Value {
    json!({
        "name": RESUME_PLAN,
        "title": "Resume a run",
        "description": "Resume a run that failed, is waiting or was interrupted. Completed steps are not repeated. `plan` replaces the plan: what it changes runs again, and what was computed from that, except for the steps in `keep`; `retry`, `skip` and `set` decide about steps.",
        "inputSchema": {"type": "object", "properties": {
            "run": {"type": "string"},
            "plan": {"type": "object"},
            "inputs": {"type": "object"},
            "keep": {"type": "array", "items": {"type": "string"}},
            "retry": {"type": "array", "items": {"type": "string"}},
            "skip": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "object", "description": "results by step"}
        }, "required": ["run"]},
        "outputSchema": outcome(),
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
    })
}

/// Returns the definition of `resume_plan` for clients that submit no plans: a call that waited for a decision is a run.
fn resume_call() -> serde_json::Value {
    json!({
        "name": RESUME_PLAN,
        "title": "Resume a call",
        "description": "Resume a call of call_tool that was waiting, once a person has decided.",
        "inputSchema": {"type": "object", "properties": {"run": {"type": "string"}}, "required": ["run"]},
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
    })
}

fn revert_run() -> serde_json::Value {
    json!({
        "name": REVERT_RUN,
        "title": "Undo a run",
        "description": "Undo the calls of a run in reverse order, if each of them has an undo. `check`: only list them. `from`: the step whose calls are the first to undo.",
        "inputSchema": {"type": "object", "properties": {
            "run": {"type": "string"},
            "from": {"type": "string"},
            "check": {"type": "boolean"}
        }, "required": ["run"]},
        "outputSchema": outcome(),
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
    })
}

pub(super) fn get_run() -> serde_json::Value {
    json!({
        "name": GET_RUN,
        "title": "Look at a run",
        "description": "The status of a run, or its result.",
        "inputSchema": {"type": "object", "properties": {"run": {"type": "string"}}, "required": ["run"]},
        "outputSchema": outcome(),
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

pub(super) fn search_tools(mode: GatewayMode, listed: &str) -> serde_json::Value {
    let description = match mode {
        // `search_tools` comes first here, so its description has the list that `execute_plan` has in the other modes.
        GatewayMode::Search => format!("Find tools for call_tool.\n\n{listed}"),
        GatewayMode::Plan | GatewayMode::PlainWithPlans | GatewayMode::Plain => {
            "Find tools that plans may call.".to_owned()
        }
    };
    json!({
        "name": SEARCH_TOOLS,
        "title": "Find tools",
        "description": description,
        "inputSchema": {"type": "object", "properties": {
            "query": {"type": "string", "description": "what you need, in words"},
            "server": {"type": "string"},
            "limit": {"type": "integer"}
        }},
        "outputSchema": {"type": "object", "properties": {"tools": {"type": "array", "items": {"type": "string"}}}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

pub(super) fn describe_tools() -> serde_json::Value {
    json!({
        "name": DESCRIBE_TOOLS,
        "title": "Describe tools",
        "description": "The full definitions of tools: parameters, results, effects.",
        "inputSchema": {"type": "object", "properties": {
            "tools": {"type": "array", "items": {"type": "string"}}
        }, "required": ["tools"]},
        "outputSchema": {"type": "object", "properties": {"tools": {"type": "array", "items": {"type": "string"}}}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

pub(super) fn call_tool() -> serde_json::Value {
    json!({
        "name": CALL_TOOL,
        "title": "Call a tool",
        "description": "Call a tool that search_tools has found.",
        "inputSchema": {"type": "object", "properties": {
            "tool": {"type": "string"},
            "arguments": {"type": "object"}
        }, "required": ["tool"]},
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Returns the tools of `mode` that the row of `docs/gateway.md` lists; those of a row without a list are in another row.
    fn listed(text: &str, mode: &str) -> BTreeSet<String> {
        let start = format!("| `{mode}`");
        let row = text.lines().find(|line| line.starts_with(&start)).unwrap();
        let tools = row.split('|').nth(2).unwrap();
        let names = tools.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_page_lists_the_tools_of_each_mode() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway.md");
        let text = std::fs::read_to_string(file).unwrap();
        let known = |mode: GatewayMode, is_wanted: fn(Condition) -> bool| {
            let tools = TOOLS.iter().filter(|tool| tool.modes.contains(&mode));
            let tools = tools.filter(|tool| is_wanted(tool.condition));
            let names = tools.map(|tool| tool.name.to_owned());
            names.collect::<BTreeSet<String>>()
        };
        let always = |condition| condition == Condition::Always;
        let plan = known(GatewayMode::Plan, always);
        assert_eq!(listed(&text, "plan"), plan);
        assert_eq!(listed(&text, "search"), known(GatewayMode::Search, always));
        // `plain` has none of its own, and with `--with-plans` those of `plan`.
        assert_eq!(known(GatewayMode::Plain, always), BTreeSet::new());
        assert_eq!(known(GatewayMode::PlainWithPlans, always), plan);
        // The text below the table names the others.
        for mode in ALL {
            for name in known(*mode, |_| true) {
                assert!(
                    text.contains(&format!("`{name}`")),
                    "the page does not name `{name}`"
                );
            }
        }
    }
}
