//! The table of the gateway's own tools.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{GatewayClient, HostCall};

use super::definitions;
use crate::host::PlanHost;
use crate::settings::GatewayMode;
use crate::tools::arguments::BadRequest;

pub(crate) const EXECUTE_PLAN: &str = "execute_plan";
pub(crate) const CREATE_PLAN: &str = "create_plan";
pub(crate) const CHECK_PLAN: &str = "check_plan";
pub(crate) const RESUME_PLAN: &str = "resume_plan";
pub(crate) const GET_RUN: &str = "get_run";
pub(crate) const SEARCH_TOOLS: &str = "search_tools";
pub(crate) const DESCRIBE_TOOLS: &str = "describe_tools";
pub(crate) const CALL_TOOL: &str = "call_tool";
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
static TOOLS: [GatewayTool; 9] = [
    GatewayTool {
        name: EXECUTE_PLAN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Listing(|_, listed| definitions::execute_plan(listed)),
        handler: |host, call| Box::pin(async move { Ok(host.execute(&call).await?) }),
    },
    GatewayTool {
        name: CHECK_PLAN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(definitions::check_plan),
        handler: |host, call| Box::pin(async move { Ok(host.check(&call).await?) }),
    },
    GatewayTool {
        name: SEARCH_TOOLS,
        modes: PLANS_AND_SEARCH,
        condition: Condition::Always,
        definition: Definition::Listing(definitions::search_tools),
        handler: |host, call| Box::pin(async move { Ok(host.search(&call).await?) }),
    },
    GatewayTool {
        name: DESCRIBE_TOOLS,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(definitions::describe_tools),
        handler: |host, call| Box::pin(async move { Ok(host.describe(&call).await?) }),
    },
    GatewayTool {
        name: CALL_TOOL,
        modes: SEARCH,
        condition: Condition::Always,
        definition: Definition::Fixed(definitions::call_tool),
        handler: |host, call| {
            Box::pin(async move { host.call_tool(&call).await.map_err(CallFailure::Upstream) })
        },
    },
    GatewayTool {
        name: RESUME_PLAN,
        modes: PLANS_AND_SEARCH,
        condition: Condition::Always,
        definition: Definition::Listing(definitions::resume),
        handler: |host, call| Box::pin(async move { Ok(Box::pin(host.resume(&call)).await?) }),
    },
    GatewayTool {
        name: GET_RUN,
        modes: PLANS,
        condition: Condition::Always,
        definition: Definition::Fixed(definitions::get_run),
        handler: |host, call| Box::pin(async move { Ok(host.get_run(&call).await?) }),
    },
    GatewayTool {
        name: CREATE_PLAN,
        modes: PLANS,
        condition: Condition::PlanWriter,
        definition: Definition::Fixed(definitions::create_plan),
        handler: |host, call| Box::pin(async move { Ok(host.create_plan(&call).await?) }),
    },
    GatewayTool {
        name: MOVE_TO_STAGE,
        modes: ALL,
        condition: Condition::Stages,
        definition: Definition::Stage,
        handler: |host, call| Box::pin(async move { Ok(host.move_to_stage(&call)?) }),
    },
];

impl GatewayTool {
    /// The tools that `client` sees, in order.
    fn of_client<'a>(
        host: &'a PlanHost,
        client: &'a GatewayClient,
    ) -> impl Iterator<Item = &'static Self> {
        let mode = host.settings.mode;
        let tools = TOOLS.iter().filter(move |tool| tool.modes.contains(&mode));
        tools.filter(|tool| host.meets(client, tool.condition))
    }

    /// Returns whether `client` sees a tool called `name`.
    pub(crate) fn is_visible(host: &PlanHost, client: &GatewayClient, name: &str) -> bool {
        Self::of_client(host, client).any(|tool| tool.name == name)
    }

    /// Returns whether any client may see a tool called `name`.
    pub(crate) fn is_reserved(host: &PlanHost, name: &str) -> bool {
        TOOLS.iter().any(|tool| {
            tool.name == name
                && tool.modes.contains(&host.settings.mode)
                && host.can_meet(tool.condition)
        })
    }

    /// The definitions of the tools that `client` sees, as `tools/list` writes them.
    pub(crate) fn definitions(host: &PlanHost, client: &GatewayClient) -> Vec<Value> {
        let mode = host.settings.mode;
        let listed = match mode {
            // No description of this mode lists tools.
            GatewayMode::Plain => String::new(),
            GatewayMode::Plan | GatewayMode::PlainWithPlans | GatewayMode::Search => {
                definitions::callable_tools(host, client, &host.tool_snapshot())
            }
        };
        let mut all = Vec::new();
        for tool in Self::of_client(host, client) {
            match tool.definition {
                Definition::Fixed(build) => all.push(Value::from(build())),
                Definition::Listing(build) => all.push(Value::from(build(mode, &listed))),
                Definition::Stage => all.extend(host.stage_definitions(client)),
            }
        }
        all
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
    /// Returns whether a condition holds for `client`.
    pub(crate) fn meets(&self, client: &GatewayClient, condition: Condition) -> bool {
        match condition {
            Condition::PlanWriter => self.has_plan_writer(client),
            Condition::Always | Condition::Stages => self.can_meet(condition),
        }
    }

    /// Returns whether a condition holds for any client.
    pub(crate) fn can_meet(&self, condition: Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::PlanWriter => self.settings.writer.is_some(),
            Condition::Stages => !self.settings.config.stages().is_empty(),
        }
    }
}
