//! Creation of plans for the goal of a client, by a model of the gateway or of the client.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use indexmap::IndexMap;
use planwright::format::{UsageV1, timestamp};
use planwright_core::check::{CheckContext, CheckedPlan, Library};
use planwright_core::expression::EvaluationLimits;
use planwright_core::{Catalog, Object, Value};
use planwright_engine::Durations;
use planwright_engine::id::random_id;
use planwright_engine::run::estimate;
use planwright_mcp::gateway::{CALL_GRACE, ClientId, GatewayClient, HostCall};
use planwright_mcp::{Caller, UpstreamError};
use planwright_planner::create::{CreateSettings, PlanOrigin, PlanRequest, PlanResponse, create};
use planwright_planner::dates::Now;
use planwright_planner::model::{
    FinishReason, Message, Model, ModelError, ModelErrorKind, ModelRequest, Reply, ReplyChunk,
};
use planwright_planner::prompt::{Memory, PlanTask, TimeContext, TimePhrase};
use planwright_store::Store;
use serde_json::json;

use crate::host::PlanHost;
use crate::plans::execute::{InvalidPlan, ValidPlan};
use crate::response::answer;
use crate::tools::arguments::{BadRequest, GatewayArguments};

/// The maximum number of created plans that are stored for one client.
const MAX_PLANS_PER_CLIENT: usize = 64;

/// The author of plans.
#[derive(Clone)]
pub enum PlanWriter {
    /// A model of the gateway.
    Model(Arc<dyn Model>),
    /// The client itself, if it supports sampling.
    Client,
}

impl fmt::Debug for PlanWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => f.debug_tuple("PlanWriter").field(&model.name()).finish(),
            Self::Client => f.write_str("Client"),
        }
    }
}

/// The created plans of each client, which only that client can use.
#[derive(Debug, Default)]
pub(crate) struct CreatedPlans(Mutex<HashMap<ClientId, PlanTexts>>);

/// Texts of plans by id.
type PlanTexts = IndexMap<Arc<str>, Arc<str>>;

impl CreatedPlans {
    /// Stores the text of a plan and returns its id.
    fn insert(&self, client: &ClientId, text: &str) -> Arc<str> {
        let id = random_id();
        let mut all = self.lock();
        let plans = all.entry(client.clone()).or_default();
        if plans.len() == MAX_PLANS_PER_CLIENT {
            plans.shift_remove_index(0);
        }
        plans.insert(Arc::clone(&id), text.into());
        id
    }

    /// Returns the text of a plan of this client.
    pub(crate) fn get(&self, client: &ClientId, id: &str) -> Option<Arc<str>> {
        self.lock().get(client)?.get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, PlanTexts>> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A created plan that is valid and ready to run.
pub(crate) struct ReadyPlan {
    /// The id that clients request it by.
    pub(crate) id: Arc<str>,
    pub(crate) text: String,
    pub(crate) valid: ValidPlan,
    usage: UsageV1,
}

impl PlanHost {
    /// Returns true if a model writes plans for this client.
    pub(crate) fn has_plan_writer(&self, client: &GatewayClient) -> bool {
        match &self.settings.writer {
            Some(PlanWriter::Model(_)) => true,
            Some(PlanWriter::Client) => client.capabilities.get("sampling").is_some(),
            None => false,
        }
    }

    /// Returns true if a model extracts data for this client: that of the gateway, or the client itself.
    pub(crate) fn extracts_for(&self, client: &GatewayClient) -> bool {
        matches!(self.settings.writer, Some(PlanWriter::Model(_)))
            || client.capabilities.get("sampling").is_some()
    }

    /// Returns the model that extracts data: that of the gateway, or the client of `caller`.
    pub(crate) fn extraction_model(
        &self,
        caller: Option<&Arc<dyn Caller>>,
    ) -> Option<Arc<dyn Model>> {
        match (&self.settings.writer, caller) {
            (Some(PlanWriter::Model(model)), _) => Some(Arc::clone(model)),
            (_, Some(caller)) => Some(Arc::new(ClientModel::new(Arc::clone(caller)))),
            (_, None) => None,
        }
    }

    /// Returns true if `create_plan` exists for this client.
    pub(crate) fn offers_create_plan(&self, client: &GatewayClient) -> bool {
        self.settings.mode.takes_plans() && self.has_plan_writer(client)
    }

    /// Handles `create_plan`.
    pub(crate) async fn create_plan(
        self: &Arc<Self>,
        call: &HostCall,
    ) -> Result<Value, BadRequest> {
        let request =
            GatewayArguments::read("create_plan", &call.arguments, &["goal", "context", "run"])?;
        let goal = request.text("goal")?;
        let context = request.object("context")?;
        let is_to_run = request
            .get("run")
            .and_then(Value::as_bool)
            .unwrap_or_default();
        let ready = match self.create_valid_plan(call, goal, context).await? {
            Ok(ready) => ready,
            Err(refusal) => return Ok(refusal),
        };
        if is_to_run {
            return self.start(call, ready.valid).await;
        }
        let mut fields = Object::default();
        fields.insert("status".into(), Value::from("sound"));
        fields.insert(
            "plan".into(),
            Value::from_json(&ready.text).unwrap_or_default(),
        );
        fields.insert("next".into(), Value::from("execute_plan runs it"));
        if let Some(usage) = tokens(ready.usage) {
            fields.insert("usage".into(), usage);
        }
        Ok(answer::structured(fields, false))
    }

    /// Creates a valid plan for `goal`. The inner error is a response that explains the failure.
    pub(crate) async fn create_valid_plan(
        &self,
        call: &HostCall,
        goal: &str,
        context: Option<Object>,
    ) -> Result<Result<ReadyPlan, Value>, BadRequest> {
        if goal.trim().is_empty() {
            return Err(BadRequest("`goal` is empty: describe the goal".to_owned()));
        }
        let memory = context
            .map(|context| Memory::read(&Value::from(context)))
            .transpose()
            .map_err(|error| BadRequest(error.to_string()))?;
        let Some(model) = self.writer(call) else {
            return Err(BadRequest("there is no model that writes plans".to_owned()));
        };
        let created = self
            .ask(call, model.as_ref(), goal, memory.as_ref())
            .await?;
        let usage = UsageV1::from(created.usage);
        let Some(plan) = created.plan else {
            return match (created.failure, created.declined) {
                (Some(error), _) if error.reply.is_empty() => {
                    Err(BadRequest(format!("no plan was written: {error}")))
                }
                (Some(error), _) => Err(BadRequest(format!(
                    "no plan was written: {error}; it said: {}",
                    error.reply
                ))),
                (None, Some(declined)) => Err(BadRequest(format!(
                    "no plan was written: the model {declined}"
                ))),
                (None, None) => {
                    let last = created.attempts.last();
                    let found = last.map(|attempt| attempt.diagnostics.clone());
                    Ok(Err(answer::rejection_response(&found.unwrap_or_default())))
                }
            };
        };
        let checked =
            self.read_and_check(&call.client, &plan.text, Some("native"), Object::default());
        match checked.await {
            Ok(valid) => Ok(Ok(ReadyPlan {
                id: self.created_plans.insert(&call.client.id, &plan.text),
                text: plan.text,
                valid,
                usage,
            })),
            Err(InvalidPlan::Refused(refused)) => Err(refused),
            Err(invalid @ InvalidPlan::Diagnostics(_)) => {
                Ok(Err(self.rejection_response(&invalid)))
            }
        }
    }

    fn writer(&self, call: &HostCall) -> Option<Arc<dyn Model>> {
        match self.settings.writer.as_ref()? {
            PlanWriter::Model(model) => Some(Arc::clone(model)),
            PlanWriter::Client => Some(Arc::new(ClientModel::new(Arc::clone(&call.caller)))),
        }
    }

    async fn ask(
        &self,
        call: &HostCall,
        model: &dyn Model,
        goal: &str,
        memory: Option<&Memory>,
    ) -> Result<PlanResponse, BadRequest> {
        let snapshot = self.settled_tools(CALL_GRACE).await;
        let policy = self.policy(&call.client);
        let open = snapshot.catalog.tools();
        let open = open.filter(|tool| policy.objection(tool).is_none());
        let mut catalog: Catalog = open.map(|tool| (**tool).clone()).collect();
        if self.extracts_for(&call.client) {
            catalog.add_extraction();
        }
        let moment = (self.settings.now)();
        let since_1970 = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Now::at(since_1970, &self.settings.zone)
            .map_err(|error| BadRequest(error.to_string()))?
            .with_calendar(self.settings.calendar);
        let times = TimePhrase::all(goal, &now);
        let durations = match &self.settings.store {
            Some(store) => store.run_blocking(Store::durations).await,
            None => Ok(Durations::default()),
        };
        // Durations only serve to estimate the time of the plan, so it is created without them.
        let durations = durations.unwrap_or_else(|error| {
            tracing::warn!(%error, "the durations of calls were not read");
            Durations::default()
        });
        let limits = &self.settings.options.limits;
        let takes = |plan: &CheckedPlan| {
            let evaluation = EvaluationLimits::default();
            estimate(plan, &durations, limits, &evaluation).known()
        };
        let library = Library::new();
        let creation = PlanRequest {
            model,
            task: PlanTask {
                goal,
                moment: TimeContext {
                    today: &now.to_string(),
                    times: &times,
                },
                catalog: &catalog,
                memory,
                state: None,
            },
            check: CheckContext::new(&catalog)
                .with_library(&library)
                .with_policy(&policy),
            origin: PlanOrigin {
                timestamp: &timestamp(moment),
                estimate: &takes,
            },
            settings: &CreateSettings::default(),
        };
        Ok(create(&creation).await)
    }
}

/// Returns the counts of tokens.
fn tokens(usage: UsageV1) -> Option<Value> {
    (usage.input_tokens + usage.output_tokens > 0).then(|| {
        let cost = usage.cost.map(|cost| ("cost", Value::from(cost)));
        let counts = [
            ("input_tokens", Value::from(usage.input_tokens)),
            ("output_tokens", Value::from(usage.output_tokens)),
        ];
        Value::object(counts.into_iter().chain(cost))
    })
}

/// The `maxTokens` of requests that set none: the protocol requires the field.
const MAX_TOKENS: u32 = 4096;

/// A client as a model.
pub(crate) struct ClientModel {
    caller: Arc<dyn Caller>,
}

impl ClientModel {
    /// Creates a model that samples through the client of `caller`.
    pub(crate) fn new(caller: Arc<dyn Caller>) -> Self {
        Self { caller }
    }
}

impl Model for ClientModel {
    fn name(&self) -> &'static str {
        "client"
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let caller = Arc::clone(&self.caller);
        let asked = async move {
            let params = params(&request);
            let answer = caller.ask("sampling/createMessage", params).await;
            answer
                .map_err(|error| sampling_error(&error))
                .and_then(|answer| read_reply(&answer))
        };
        stream::once(asked).boxed()
    }
}

fn params(request: &ModelRequest) -> Value {
    let messages = request.messages.iter().map(|message| {
        let (role, text) = match message {
            Message::Assistant { text, .. } => ("assistant", text),
            Message::User(text) | Message::ToolResult { text, .. } => ("user", text),
        };
        json!({"role": role, "content": {"type": "text", "text": text}})
    });
    Value::from(json!({
        "messages": messages.collect::<Vec<_>>(),
        "systemPrompt": &*request.system,
        "maxTokens": request.max_tokens.unwrap_or(MAX_TOKENS),
        "temperature": request.temperature,
    }))
}

fn read_reply(answer: &Value) -> Result<ReplyChunk, ModelError> {
    let content = answer.get("content");
    // Newer revisions have several blocks.
    let blocks = content.and_then(Value::as_list).map_or_else(
        || content.into_iter().collect(),
        |blocks| blocks.iter().collect::<Vec<_>>(),
    );
    let texts = blocks
        .iter()
        .filter_map(|block| block.get("text")?.as_text());
    let text: String = texts.collect();
    if text.is_empty() {
        return Err(ModelError::new(
            ModelErrorKind::Malformed,
            "the client's model replied without text",
        ));
    }
    let mut reply = Reply::text(text);
    reply.usage.requests = 1;
    reply.finish = match answer.get("stopReason").and_then(Value::as_text) {
        Some("maxTokens") => FinishReason::Length,
        Some("refusal") => FinishReason::Refusal,
        _ => FinishReason::Complete,
    };
    Ok(ReplyChunk::Done(reply))
}

fn sampling_error(error: &UpstreamError) -> ModelError {
    let message = format!("the client's model did not answer: {}", error.message);
    ModelError::new(ModelErrorKind::Refused, message)
}
