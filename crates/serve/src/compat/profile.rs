//! Compat profiles: the systems, the list and the calls of their tools, and the results of runs in their forms.

use std::sync::Arc;

use planwright::loaded_plan::LoadedPlan;
use planwright_core::Value;
use planwright_core::check::CheckedPlan;
use planwright_engine::RunId;
use planwright_engine::{RunStatus, RunSummary};
use planwright_mcp::gateway::{GatewayClient, HostCall};
use planwright_store::{StoreError, StoredPlan};

use super::mcp_cli;
use super::tools::{
    CompatHandler, DescriptionContext, ProfileOutcome, ProfileTools, SubmittedPlan,
};
use crate::host::{PlanHost, spawn_blocking_limited};
use crate::plans::execute::ValidPlan;
use crate::response::answer;
use crate::settings::CompatProfile;
use crate::tools::arguments::{BadRequest, GatewayArguments};

impl CompatProfile {
    pub(super) fn tools(self) -> &'static dyn ProfileTools {
        match self {
            Self::Concierge => &super::concierge::ConciergeProfile,
            Self::Agentle => &super::agentle::AgentleProfile,
            Self::McpCli => &super::mcp_cli::McpCliProfile,
        }
    }
}

/// Returns the result of a run in the form of the system. No value is longer than `limit` bytes.
pub(crate) fn run_response(
    name: CompatProfile,
    summary: &RunSummary,
    plan: Option<&CheckedPlan>,
    limit: u64,
) -> Value {
    let profile = name.tools();
    let mut outcome = ProfileOutcome::new(summary, plan, limit);
    let answered = profile.answer(&mut outcome);
    let attached = outcome.finish();
    let is_error = matches!(summary.status, RunStatus::Failed | RunStatus::Cancelled);
    let text = profile.text(&answered);
    answer::in_form_of_profile(answered, text, attached, is_error)
}

/// Returns a refusal, which all these systems write in the same form.
pub(crate) fn refusal_response(name: CompatProfile, message: &str) -> Value {
    let answered = Value::object([("error", Value::from(message))]);
    let text = name.tools().text(&answered);
    answer::in_form_of_profile(answered, text, (Vec::new(), None), true)
}

/// Returns the answer about a run that was interrupted.
pub(crate) fn interrupted_response(name: CompatProfile, run: &RunId) -> Value {
    let message =
        format!("the gateway ended before the plan did; `planwright resume {run}` resumes it");
    refusal_response(name, &message)
}

impl PlanHost {
    /// Returns the tools of the profile for a client, as `tools/list` writes them.
    pub(crate) async fn profile_definitions(
        &self,
        client: &GatewayClient,
        name: CompatProfile,
    ) -> Vec<Value> {
        let snapshot = self.tools_of(client);
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

    /// Returns true if `called` is a tool of the profile for this client.
    pub(crate) fn profile_owns(
        &self,
        client: &GatewayClient,
        name: CompatProfile,
        called: &str,
    ) -> bool {
        let mut tools = name.tools().tools().iter();
        tools.any(|tool| tool.name == called && self.meets(client, tool.condition))
    }

    /// Returns true if `called` is a tool of the profile for any client.
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
        let (text, dialect, inputs, called) = match name.tools().plan(&call.arguments)? {
            SubmittedPlan::Plan {
                text,
                dialect,
                inputs,
            } => (text, dialect.map(str::to_owned), inputs, None),
            SubmittedPlan::Stored { name, inputs }
                if let Some(text) = self.created_plans.get(&call.client.id, &name) =>
            {
                (
                    text.to_string(),
                    Some("native".to_owned()),
                    inputs,
                    Some(name),
                )
            }
            SubmittedPlan::Stored { name, inputs } => {
                let saved = self.stored_plan(&name).await?;
                (saved.text, saved.dialect, inputs, Some(name))
            }
        };
        let adjust = |loaded: LoadedPlan| {
            let loaded = match &called {
                Some(name) => loaded.called(Arc::clone(name)),
                None => loaded,
            };
            // If no tool marks the parameters that take references, all of them take some.
            if self.tools_of(&call.client).marks_sharing() {
                loaded
            } else {
                loaded.shared()
            }
        };
        let checked = self
            .check_adjusted(&call.client, &text, dialect.as_deref(), inputs, adjust)
            .await;
        match checked {
            Ok(valid) => self.start(call, valid).await,
            Err(invalid) => Ok(self.rejection_response(&invalid)),
        }
    }

    /// Handles `plan_create` and `plan_create_and_execute`.
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
            return Ok(mcp_cli::created_plan_answer(
                &ready.id,
                goal,
                ready.valid.plan.plan(),
            ));
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

    /// Returns the stored plans.
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

    /// Returns the stored plan with this name, or the version with this id.
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
