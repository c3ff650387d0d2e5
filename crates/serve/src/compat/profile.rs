//! Compat profiles: the systems, what each has to provide, the list and the calls of its tools, and the result of a run, as profiles read it.

use std::sync::Arc;

use planwright::loaded_plan::LoadedPlan;
use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Plan, Tool, Value};
use planwright_engine::RunId;
use planwright_engine::run::{StepStatus, StepSummary};
use planwright_engine::{RunStatus, RunSummary};
use planwright_mcp::gateway::{GatewayClient, HostCall};
use planwright_store::{StoreError, StoredPlan};

use super::mcp_cli;
use crate::host::{PlanHost, spawn_blocking_limited};
use crate::plans::execute::ValidPlan;
use crate::response::answer;
use crate::response::content::Attachments;
use crate::response::format::ResponseBudget;
use crate::tools::arguments::{BadRequest, GatewayArguments};
use crate::tools::{Condition, MOVE_TO_STAGE};

/// A system whose tools the gateway can offer instead of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompatProfile {
    /// Concierge: `execute_plan`, and the tools for its stages.
    Concierge,
    /// agentle4j: `execute_tool_plan`.
    Agentle,
    /// mcp-cli: `plan_execute`.
    McpCli,
}

/// A tool of a compat profile.
pub(super) struct CompatTool {
    pub(super) name: &'static str,
    pub(super) condition: Condition,
    pub(super) handler: CompatHandler,
}

/// The handler of a tool of a compat profile.
#[derive(Clone, Copy)]
pub(super) enum CompatHandler {
    /// Runs the plan of the call.
    Execute,
    /// Has a plan written, and runs it if the tool requests it.
    Create,
    /// Moves to the next stage as Concierge does.
    Proceed,
    /// Starts over as Concierge does.
    Terminate,
    /// Moves as the gateway's own tool does.
    MoveToStage,
}

/// `move_to_stage`, for profiles whose systems have no tools for stages.
pub(super) const STAGE_TOOL: CompatTool = CompatTool {
    name: MOVE_TO_STAGE,
    condition: Condition::Stages,
    handler: CompatHandler::MoveToStage,
};

/// The tools and formats of another system.
pub(super) trait ProfileTools: Sync {
    /// Returns all tools of the profile.
    fn tools(&self) -> &'static [CompatTool];

    /// Returns the definitions of the tools for plans, as `tools/list` writes them.
    fn definitions(&self, context: &DescriptionContext<'_>) -> Vec<serde_json::Value>;

    /// Returns the plan of a call.
    ///
    /// # Errors
    ///
    /// The arguments have no plan.
    fn plan(&self, arguments: &Value) -> Result<SubmittedPlan, BadRequest>;

    /// Returns the result of a run in the form of the system.
    fn answer(&self, outcome: &mut ProfileOutcome<'_>) -> Value;

    /// Returns an answer as text.
    fn text(&self, answer: &Value) -> String {
        answer.to_json()
    }
}

/// The data for the descriptions of tools.
pub(super) struct DescriptionContext<'a> {
    /// The tools that plans may call; empty if the client sees them anyway.
    pub(super) tools: Vec<&'a Arc<Tool>>,
    /// True if tools mark their parameters that take references.
    pub(super) marks_sharing: bool,
    /// The stored plans.
    pub(super) saved: Vec<StoredPlan>,
    /// True if a model writes plans.
    pub(super) creates: bool,
}

/// The plan of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SubmittedPlan {
    /// A plan.
    Plan {
        text: String,
        dialect: Option<&'static str>,
        inputs: Object,
    },
    /// The name or id of a stored plan.
    Stored { name: Arc<str>, inputs: Object },
}

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

/// Returns true if a tool's schema marks any part as taking references.
pub(crate) fn marks_sharing(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| &**name == MARK || marks_sharing(value)),
        Value::List(items) => items.iter().any(marks_sharing),
        _ => false,
    }
}

/// The schema keyword of a parameter that accepts references.
pub(super) const MARK: &str = "x-sharable";

/// The result of a run.
pub(super) struct ProfileOutcome<'a> {
    pub(super) summary: &'a RunSummary,
    /// The plan, if it is known.
    pub(super) plan: Option<&'a Plan>,
    bounds: ResponseBudget,
    attached: Attachments<'a>,
}

impl<'a> ProfileOutcome<'a> {
    /// Creates the result. Values are shown up to `limit` bytes.
    pub(super) fn new(summary: &'a RunSummary, plan: Option<&'a CheckedPlan>, limit: u64) -> Self {
        Self {
            summary,
            plan: plan.map(CheckedPlan::plan),
            bounds: ResponseBudget::new(limit),
            attached: Attachments::of(summary, plan),
        }
    }

    /// Returns the blocks besides the text, and the run if a value was abbreviated.
    pub(super) fn finish(self) -> (Vec<Value>, Option<&'a RunId>) {
        let (blocks, _) = self.attached.finish();
        let whole = self.bounds.is_trimmed.then_some(&self.summary.run);
        (blocks, whole)
    }

    pub(super) fn is_success(&self) -> bool {
        self.summary.status == RunStatus::Succeeded
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &'a StepSummary> + use<'a> {
        self.summary.steps.iter()
    }

    /// Returns `value`, abbreviated if it is too large.
    pub(super) fn abbreviate(&mut self, value: &Value) -> Value {
        // A field of any type is trimmed as a whole.
        let shown = self.abbreviate_fields(&Value::object([("value", value.clone())]));
        shown.get("value").cloned().unwrap_or_default()
    }

    /// Returns the fields of `values`, abbreviated if they are too large.
    pub(super) fn abbreviate_fields(&mut self, values: &Value) -> Value {
        self.bounds.fields(&self.attached.detach(values))
    }

    /// Returns the reason why a step has no output.
    pub(super) fn failure_reason(&self, step: &StepSummary) -> String {
        let (run, at) = (&self.summary.run, &step.at);
        match step.status {
            StepStatus::Succeeded => String::new(),
            StepStatus::Failed => failure(step),
            StepStatus::Skipped | StepStatus::NotRun => match &step.reason {
                Some(reason) => format!("skipped: {reason}"),
                None => "skipped".to_owned(),
            },
            StepStatus::Cancelled => "cancelled".to_owned(),
            StepStatus::Waiting => format!(
                "a person has to decide about this call of `{at}` before the run `{run}` can continue"
            ),
            StepStatus::Unknown => format!(
                "it is unknown whether this call happened; a person has to look and decide before the run `{run}` can continue"
            ),
        }
    }
}

/// Returns the error of the step or of one of its parts.
fn failure(step: &StepSummary) -> String {
    if let Some(error) = &step.error {
        return error.message.clone();
    }
    let mut parts = step.parts.iter();
    match parts.find(|part| part.status == StepStatus::Failed) {
        Some(part) => format!("`{}` failed: {}", part.at, failure(part)),
        None => "failed".to_owned(),
    }
}

impl PlanHost {
    /// Returns the tools of the profile for a client, as `tools/list` writes them.
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
            if self.tool_snapshot().marks_sharing() {
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

/// Returns the plan whose fields are the arguments. The list of steps may be JSON within a text, as models write it.
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
        inputs: Object::default(),
    })
}
