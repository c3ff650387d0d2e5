//! Creation of plans for the goal of a client, by a model of the gateway or of the client.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use planwright::format::{UsageV1, timestamp};
use planwright_core::check::{CheckContext, CheckedPlan, Library};
use planwright_core::expression::EvaluationLimits;
use planwright_core::{Catalog, Object, Value};
use planwright_engine::Durations;
use planwright_engine::run::estimate;
use planwright_mcp::Caller;
use planwright_mcp::gateway::{CALL_GRACE, GatewayClient, HostCall};
use planwright_planner::create::{CreateSettings, PlanOrigin, PlanRequest, PlanResponse, create};
use planwright_planner::dates::Now;
use planwright_planner::model::Model;
use planwright_planner::prompt::{Memory, PlanTask, TimeContext, TimePhrase};
use planwright_store::Store;

use crate::host::PlanHost;
use crate::plans::execute::{InvalidPlan, ValidPlan};
use crate::plans::writer::{ClientModel, PlanWriter};
use crate::response::answer;
use crate::tools::arguments::{BadRequest, GatewayArguments};

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
        let snapshot = self.settled_tools(&call.client, CALL_GRACE).await;
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
