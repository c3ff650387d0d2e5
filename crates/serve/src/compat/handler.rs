//! Lists and calls the tools of a compat profile.

use std::sync::Arc;

use planwright::loaded_plan::LoadedPlan;
use planwright_core::{Object, Value};
use planwright_mcp::gateway::{GatewayClient, HostCall};
use planwright_store::{StoreError, StoredPlan};

use super::{CompatHandler, CompatProfile, DescriptionContext, SubmittedPlan, mcp_cli};
use crate::blocking::spawn_blocking_limited;
use crate::host::PlanHost;
use crate::plans::execute::ValidPlan;
use crate::tools::arguments::{BadRequest, GatewayArguments};

impl PlanHost {
    /// The tools of the profile for a client, as `tools/list` writes them.
    pub(crate) async fn profile_definitions(
        &self,
        client: &GatewayClient,
        name: CompatProfile,
    ) -> Vec<Value> {
        let snapshot = self.tool_snapshot();
        let policy = self.policy(client);
        let mut tools = Vec::new();
        if !self.settings.mode.passes() {
            let open = snapshot.catalog.tools();
            tools.extend(open.filter(|tool| policy.objection(tool).is_none()));
        }
        let context = DescriptionContext {
            tools,
            marks_sharing: snapshot.marks_sharing(),
            saved: match name {
                CompatProfile::McpCli => self.stored_plans().await,
                CompatProfile::Concierge | CompatProfile::Agentle => Vec::new(),
            },
            creates: self.has_plan_writer(client),
        };
        let definitions = name
            .tools()
            .definitions(&context)
            .into_iter()
            .map(Value::from);
        let mut definitions: Vec<Value> = definitions.collect();
        match name {
            CompatProfile::Concierge => {
                let stages = self.concierge_stage_definitions(client).into_iter();
                definitions.extend(stages.map(Value::from));
            }
            CompatProfile::Agentle | CompatProfile::McpCli => {
                definitions.extend(self.stage_definitions(client));
            }
        }
        definitions
    }

    /// Returns whether `called` is a tool of the profile for this client.
    pub(crate) fn profile_owns(
        &self,
        client: &GatewayClient,
        name: CompatProfile,
        called: &str,
    ) -> bool {
        let mut tools = name.tools().tools().iter();
        tools.any(|tool| tool.name == called && self.meets(client, tool.condition))
    }

    /// Returns whether `called` is a tool of the profile for any client.
    pub(crate) fn profile_reserves(&self, name: CompatProfile, called: &str) -> bool {
        let mut tools = name.tools().tools().iter();
        tools.any(|tool| tool.name == called && self.can_meet(tool.condition))
    }

    /// Calls a tool of the profile.
    pub(crate) async fn call_profile_tool(
        self: &Arc<Self>,
        call: &HostCall,
        name: CompatProfile,
    ) -> Result<Value, BadRequest> {
        let mut tools = name.tools().tools().iter();
        let tool = tools.find(|tool| tool.name == call.name);
        match tool.map_or(CompatHandler::Execute, |tool| tool.handler) {
            CompatHandler::Execute => self.execute_for_profile(call, name).await,
            CompatHandler::Create => self.create_for_profile(call).await,
            CompatHandler::Proceed => self.proceed(call),
            CompatHandler::Terminate => self.terminate(call),
            CompatHandler::MoveToStage => self.move_to_stage(call),
        }
    }

    async fn execute_for_profile(
        self: &Arc<Self>,
        call: &HostCall,
        name: CompatProfile,
    ) -> Result<Value, BadRequest> {
        let (text, dialect, given, called) = match name.tools().plan(&call.arguments)? {
            SubmittedPlan::Plan {
                text,
                dialect,
                given,
            } => (text, dialect.map(str::to_owned), given, None),
            SubmittedPlan::Stored { name, given }
                if let Some(text) = self.created_plans.get(&call.client.id, &name) =>
            {
                (
                    text.to_string(),
                    Some("native".to_owned()),
                    given,
                    Some(name),
                )
            }
            SubmittedPlan::Stored { name, given } => {
                let saved = self.stored_plan(&name).await?;
                (saved.text, saved.dialect, given, Some(name))
            }
        };
        let adjust = |loaded: LoadedPlan| {
            let loaded = match &called {
                Some(name) => loaded.called(Arc::clone(name)),
                None => loaded,
            };
            // If no tool marks the parameters that take references, all of them take some.
            if self.tool_snapshot().marks_sharing() {
                loaded
            } else {
                loaded.shared()
            }
        };
        let checked = self
            .check_adjusted(&call.client, &text, dialect.as_deref(), given, adjust)
            .await;
        match checked {
            Ok(valid) => self.start(call, valid).await,
            Err(invalid) => Ok(self.rejected(&invalid)),
        }
    }

    /// `plan_create` and `plan_create_and_execute`: a plan is written, and maybe run at once.
    async fn create_for_profile(self: &Arc<Self>, call: &HostCall) -> Result<Value, BadRequest> {
        let names = ["goal"];
        let request = GatewayArguments::read(mcp_cli::PLAN_CREATE, &call.arguments, &names)?;
        let goal = request.text("goal")?;
        let ready = match self.create_valid_plan(call, goal, None).await? {
            Ok(ready) => ready,
            Err(refusal) => {
                let message = refusal
                    .get("content")
                    .and_then(|content| content.as_list()?.first()?.get("text"));
                let message = message
                    .and_then(Value::as_text)
                    .unwrap_or("no plan was written");
                return Err(BadRequest(message.to_owned()));
            }
        };
        if call.name == mcp_cli::PLAN_CREATE {
            return Ok(mcp_cli::created(&ready.id, goal, ready.valid.plan.plan()));
        }
        let ValidPlan {
            snapshot,
            loaded,
            plan,
        } = ready.valid;
        let loaded = loaded.called(Arc::clone(&ready.id));
        self.start(
            call,
            ValidPlan {
                snapshot,
                loaded,
                plan,
            },
        )
        .await
    }

    /// The plans that were saved.
    async fn stored_plans(&self) -> Vec<StoredPlan> {
        let Some(store) = self.settings.store.clone() else {
            return Vec::new();
        };
        match spawn_blocking_limited(move || store.plans()).await {
            Ok(Ok(plans)) => plans,
            Ok(Err(error)) => {
                tracing::warn!(%error, "saved plans cannot be listed");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// The plan that was saved as `name`, or in the version of this id.
    async fn stored_plan(&self, name: &str) -> Result<StoredPlan, BadRequest> {
        let none = || {
            BadRequest(format!(
                "there is no plan `{name}`; the description of `{}` lists them",
                mcp_cli::PLAN_EXECUTE
            ))
        };
        let store = self.settings.store.clone().ok_or_else(none)?;
        let selector = name.to_owned();
        let found = spawn_blocking_limited(move || store.plan(&selector, None))
            .await
            .map_err(|error| BadRequest(error.to_string()))?;
        found.map_err(|error| match error {
            StoreError::Missing { .. } => none(),
            other => BadRequest(other.to_string()),
        })
    }
}

/// A plan whose fields are the arguments themselves. Models write the list of steps as JSON within a text as well.
pub(super) fn plan_of_steps(
    arguments: &Value,
    dialect: &'static str,
    tool: &str,
) -> Result<SubmittedPlan, BadRequest> {
    let mut fields: Object = arguments.as_object().cloned().unwrap_or_default();
    let Some(steps) = fields.get_mut("steps").filter(|steps| !steps.is_null()) else {
        return Err(BadRequest(format!(
            "`{tool}` needs the argument `steps`: {{\"steps\": [{{\"id\": …, \"tool\": …}}, …]}}"
        )));
    };
    if let Some(text) = steps.as_text()
        && let Ok(list @ Value::List(_)) = Value::from_json(text)
    {
        *steps = list;
    }
    Ok(SubmittedPlan::Plan {
        text: Value::from(fields).to_json(),
        dialect: Some(dialect),
        given: Object::default(),
    })
}
