//! Checks plans and runs them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use planwright::loaded_plan::LoadedPlan;
use planwright::pins::PinPolicy;
use planwright::service::{RunSpec, RunStorage, Tools};
use planwright::stored::NewStoredRun;
use planwright_core::check::CheckedPlan;
use planwright_core::expression::EvaluationLimits;
use planwright_core::flow::PlannerLabel;
use planwright_core::{Code, Object, ServerNames, Tool, Value};
use planwright_dialects::{ParseResult, ReadOptions};
use planwright_engine::guard::{Guards, WrittenMeter};
use planwright_engine::options::RunOptions;
use planwright_engine::run::{StepPreview, preview};
use planwright_mcp::gateway::{ClientId, GatewayClient, HostCall};
use planwright_mcp::{Caller, UpstreamState, UpstreamView};
use planwright_planner::extraction::Extraction;
use planwright_store::{ClientLimit, LeaseHolder};

use crate::host::PlanHost;
use crate::host::spawn_blocking_limited;
use crate::plans::approver::{self, ClientApprover};
use crate::response::answer;
use crate::runs::progress::ProgressReporter;
use crate::runs::registry::{CancelOnDrop, PendingQuestions, RunTracking, TrackedRun, owner};
use crate::runs::slots::{NoSlot, RunLimits, RunSlot};
use crate::tools::arguments::{BadRequest, GatewayArguments};
use crate::tools::snapshot::{GuardedBackends, ToolSnapshot};

/// The budget of written bytes of all plans of one client, as a multiple of that of one plan.
const MAX_FULL_PLANS: u64 = 4;

/// A checked plan, the tools it was checked with, and the text that it was read from.
pub(crate) struct ValidPlan {
    /// The tools that it was checked with.
    pub(crate) snapshot: Arc<ToolSnapshot>,
    pub(crate) loaded: LoadedPlan,
    pub(crate) plan: CheckedPlan,
}

/// The reason why there is no valid plan.
pub(crate) enum InvalidPlan {
    /// The plan has errors.
    Diagnostics(Box<LoadedPlan>),
    /// The plan could not be read at all.
    Refused(BadRequest),
}

impl InvalidPlan {
    /// Returns the reason why a run with this plan cannot be resumed.
    pub(crate) fn reason(self) -> BadRequest {
        match self {
            Self::Refused(reason) => reason,
            Self::Diagnostics(_) => {
                BadRequest("its plan has errors with the tools of this gateway".to_owned())
            }
        }
    }
}

impl PlanHost {
    /// Handles `execute_plan`.
    pub(crate) async fn execute(self: &Arc<Self>, call: &HostCall) -> Result<Value, BadRequest> {
        let arguments = &call.arguments;
        let request =
            GatewayArguments::read("execute_plan", arguments, &["plan", "inputs", "dialect"])?;
        let text = plan_text(&request)?;
        let inputs = request.object("inputs")?.unwrap_or_default();
        let dialect = request.optional_text("dialect")?;
        match self
            .read_and_check(&call.client, &text, dialect, inputs)
            .await
        {
            Ok(valid) => self.start(call, valid).await,
            Err(invalid) => Ok(self.rejection_response(&invalid)),
        }
    }

    /// Handles `check_plan`.
    pub(crate) async fn check(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let arguments = &call.arguments;
        let request =
            GatewayArguments::read("check_plan", arguments, &["plan", "inputs", "dialect"])?;
        let text = plan_text(&request)?;
        let inputs = request.object("inputs")?.unwrap_or_default();
        let dialect = request.optional_text("dialect")?;
        match self
            .read_and_check(&call.client, &text, dialect, inputs)
            .await
        {
            Ok(valid) => Ok(valid_plan_response(&valid, self.is_exposed(&call.client))),
            Err(invalid) => Ok(self.rejection_response(&invalid)),
        }
    }

    /// Reads and checks a plan. Waits for servers that are still starting if the plan may need them.
    pub(crate) async fn read_and_check(
        &self,
        client: &GatewayClient,
        text: &str,
        dialect: Option<&str>,
        inputs: Object,
    ) -> Result<ValidPlan, InvalidPlan> {
        self.check_adjusted(client, text, dialect, inputs, |loaded| loaded)
            .await
    }

    /// Like [`read_and_check`](Self::read_and_check), but applies `adjust` to the parsed plan first.
    pub(crate) async fn check_adjusted(
        &self,
        client: &GatewayClient,
        text: &str,
        dialect: Option<&str>,
        inputs: Object,
        adjust: impl Fn(LoadedPlan) -> LoadedPlan,
    ) -> Result<ValidPlan, InvalidPlan> {
        let plan = parse_plan(text, dialect).plan;
        let recalled = self.recall(client, plan.as_ref()).await;
        let (recalled, labels) = recalled.map_err(InvalidPlan::Refused)?;
        let read = || {
            let loaded = LoadedPlan::new("plan", parse_plan(text, dialect))
                .with_inputs(inputs.clone())
                .with_recalled(recalled.clone(), labels.clone());
            adjust(loaded)
        };
        self.check_as_servers_start(client, read).await
    }

    /// Checks the plan that `read` returns, and checks it again as servers become ready.
    pub(crate) async fn check_as_servers_start(
        &self,
        client: &GatewayClient,
        read: impl Fn() -> LoadedPlan,
    ) -> Result<ValidPlan, InvalidPlan> {
        self.check_labelled(client, None, |_| false, read).await
    }

    /// Like [`check_as_servers_start`](Self::check_as_servers_start), for a plan whose author had the label `planner`; without it, the client is the
    /// author. Calls of the tools that `asks` selects need an approval, whatever the rules for the client say.
    pub(crate) async fn check_labelled(
        &self,
        client: &GatewayClient,
        planner: Option<PlannerLabel>,
        asks: impl Fn(&Tool) -> bool,
        read: impl Fn() -> LoadedPlan,
    ) -> Result<ValidPlan, InvalidPlan> {
        let policy = || {
            let mut policy = self.policy(client);
            if let (Some(flow), Some(planner)) = (&mut policy.flow, planner) {
                flow.planner = planner;
            }
            policy
        };
        let mut changes = self.upstreams.changes();
        loop {
            changes.mark_unchanged();
            // The servers are read before the tools: a server that becomes ready in between has its tools in the snapshot.
            let seen = self.upstreams.view();
            let mut snapshot = self.tools_of(client);
            if snapshot.extracting.tools().any(|tool| asks(tool)) {
                snapshot = Arc::new(snapshot.asking(&asks));
            }
            let catalog = if self.extracts_for(client) {
                &snapshot.extracting
            } else {
                &snapshot.catalog
            };
            let unchecked = read();
            let tools = self.settings.config.with_undo_tools(unchecked.tool_names());
            let (plan, mut loaded) = unchecked.check(catalog, &policy());
            if let Some(plan) = plan {
                return Ok(ValidPlan {
                    snapshot,
                    loaded,
                    plan,
                });
            }
            let mut findings = loaded.diagnostics.iter();
            let is_unknown = findings.any(|finding| finding.code == Code::UnknownTool);
            if is_unknown
                && may_gain_tools(&seen, catalog.servers(), &tools)
                && changes.changed().await.is_ok()
            {
                continue;
            }
            self.add_missing_servers(&mut loaded);
            return Err(InvalidPlan::Diagnostics(Box::new(loaded)));
        }
    }

    /// Adds the servers that are not ready to diagnostics about unknown tools.
    fn add_missing_servers(&self, loaded: &mut LoadedPlan) {
        let missing = self.missing_servers();
        if missing.is_empty() {
            return;
        }
        for finding in &mut loaded.diagnostics {
            if finding.code == Code::UnknownTool {
                let mut help = finding.help.take().into_iter().collect::<Vec<_>>();
                help.extend(missing.iter().cloned());
                finding.help = Some(help.join("; "));
            }
        }
    }

    /// Starts a run and waits for it.
    pub(crate) async fn start(
        self: &Arc<Self>,
        call: &HostCall,
        valid: ValidPlan,
    ) -> Result<Value, BadRequest> {
        let (host, of) = (Arc::clone(self), call.clone());
        // If the call is cancelled while the run is being written, the run starts all the same, and is cancelled: otherwise it would look
        // like an interrupted run.
        let starting = self.runs.register_start();
        let begun = tokio::spawn(async move {
            // Dropped once the run is tracked, so that a gateway that ends meanwhile waits for the run.
            let _starting = starting;
            let running = host.begin(&of, valid).await?;
            let guard = CancelOnDrop::new(&running);
            Ok::<_, BadRequest>((running, guard))
        });
        let begun = begun.await.map_err(|error| BadRequest(error.to_string()));
        let (running, mut guard) = begun??;
        guard.release();
        self.wait(call, &running).await
    }

    async fn begin(
        &self,
        call: &HostCall,
        valid: ValidPlan,
    ) -> Result<Arc<TrackedRun>, BadRequest> {
        let slot = self.reserve(&call.client, &call.client.id)?;
        let options = self.options(&call.client, &valid.plan)?;
        let warnings = answer::warnings(&valid.loaded.diagnostics);
        let now = (self.settings.now)();
        let storage = match self.settings.store.clone() {
            None => RunStorage::Nothing,
            Some(store) => RunStorage::New {
                store,
                holder: self.holder(&call.client, &call.client.id),
                run: Box::new(NewStoredRun {
                    client: owner(&call.client.id),
                    ..valid.loaded.new_run(self.settings.sources.clone(), now)
                }),
            },
        };
        let spec = RunSpec {
            options,
            storage,
            ..RunSpec::new(valid.plan)
        };
        self.launch(call, &valid.snapshot, (spec, slot), (now, warnings))
            .await
    }

    /// Returns the options of a run of a client.
    pub(crate) fn options(
        &self,
        client: &GatewayClient,
        plan: &CheckedPlan,
    ) -> Result<RunOptions, BadRequest> {
        let mut guards = self.settings.options.guards.clone();
        self.client_policy(client).narrow(&mut guards);
        let secret_values = (self.settings.external_values)(plan).map_err(BadRequest)?;
        let mut options = RunOptions {
            guards,
            secret_values,
            meter: WrittenMeter::default(),
            ..self.settings.options.clone()
        };
        self.add_upstream_secrets(&mut options.secrets);
        Ok(options)
    }

    /// Adds the secrets of servers: those that came later have secrets of their own.
    pub(crate) fn add_upstream_secrets(&self, secrets: &mut Vec<Arc<str>>) {
        for secret in self.upstreams.secrets() {
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
    }

    /// Launches and tracks a run that began at `began`, over the tools that its plan was checked with. The answer about the run has the
    /// `warnings` about the plan.
    pub(crate) async fn launch(
        &self,
        call: &HostCall,
        snapshot: &ToolSnapshot,
        (mut spec, slot): (RunSpec, RunSlot),
        (began, warnings): (SystemTime, Vec<Value>),
    ) -> Result<Arc<TrackedRun>, BadRequest> {
        let client = &call.client;
        let meter = spec.options.meter.clone();
        let questions = Arc::new(PendingQuestions::default());
        if self.settings.store.is_some() {
            call.caller.bind(spec.id.as_str());
        }
        let client_asked = ClientApprover {
            form: client.supports_forms().then(|| Arc::clone(&call.caller)),
            task: client.supports_tasks().then(|| Arc::clone(&questions)),
        };
        spec.approver = approver::run_approver(self.settings.store.clone(), client_asked);
        // A run that another client resumes stays that of the client that started it.
        let owner = spec.client.get_or_insert_with(|| client.id.as_str().into());
        let owner = ClientId::new(Arc::clone(owner));
        spec.trace = call.caller.meta();
        let rerun = spec.storage.rerun().to_vec();
        let is_revert = spec.storage.is_revert();
        let plan = spec.plan.clone();
        let service = self.service.with_tools(Tools {
            catalog: Arc::clone(&snapshot.extracting),
            backend: Arc::new(self.backends(Some(Arc::clone(&call.caller)))),
            policy: self.policy(client),
        });
        // A gateway that ends waits until the run is tracked, also if the call is dropped meanwhile.
        let starting = self.runs.register_start();
        let launch = move || (service.launch(spec), slot, starting);
        let launched = spawn_blocking_limited(launch).await;
        let (run, slot, _starting) = launched.map_err(|error| BadRequest(error.to_string()))?;
        let run = run.map_err(|error| BadRequest(start_failure(&error)))?;
        let progress_token = call.progress_token.clone();
        let recipient = progress_token.map(|token| (Arc::clone(&call.caller), token));
        let progress = ProgressReporter::new(&plan, recipient);
        progress.announce(&rerun);
        Ok(self.runs.track(RunTracking {
            run,
            client: owner,
            plan,
            rerun,
            warnings,
            questions,
            began,
            is_revert,
            meter,
            progress,
            slot,
        }))
    }

    /// Returns the maximum number of plans of a client in progress.
    fn max_plans(&self, client: &GatewayClient) -> usize {
        self.client_policy(client)
            .max_plans(self.settings.plans_at_once)
    }

    /// Returns the identity of this process as the holder of a run that `client` starts or resumes, and that `of` owns.
    pub(crate) fn holder(&self, client: &GatewayClient, of: &ClientId) -> LeaseHolder {
        LeaseHolder {
            client: owner(of).map(|of| ClientLimit {
                client: of,
                max: u64::try_from(self.max_plans(client)).unwrap_or(u64::MAX),
            }),
            ..self.settings.holder.clone()
        }
    }

    /// Reserves the slot of one more plan that `client` starts or resumes, beside those in progress of `of`, which owns it.
    pub(crate) fn reserve(
        &self,
        client: &GatewayClient,
        of: &ClientId,
    ) -> Result<RunSlot, BadRequest> {
        let bound = self.settings.options.guards.written_bytes.as_ref();
        let max_bytes = bound.map_or(Guards::WRITTEN_BYTES, |bound| bound.limit);
        let limits = RunLimits {
            runs: self.max_plans(client),
            bytes: max_bytes.saturating_mul(MAX_FULL_PLANS),
        };
        let reserved = self.runs.reserve(of, limits);
        reserved.map_err(|no_slot| BadRequest(match no_slot {
            NoSlot::Runs => format!(
                "this client has reached the maximum of plans in progress ({}); wait for one to end",
                limits.runs
            ),
            NoSlot::Bytes(bytes) => format!(
                "the plans of this client in progress have written {bytes} bytes of values, more than the {} above which no further one starts; wait for one to end",
                limits.bytes
            ),
        }))
    }

    /// Returns the backend for the calls of a client.
    pub(crate) fn backends(&self, caller: Option<Arc<dyn Caller>>) -> GuardedBackends {
        let mut backends = self.settings.own.1.clone();
        if let Some(model) = self.extraction_model(caller.as_ref()) {
            backends.set_extraction(Arc::new(Extraction::new(model)));
        }
        backends.join(self.upstreams.backends(caller));
        // Read after the backends: too high a number refuses a call, too low a one would miss a change.
        let view = self.upstreams.view();
        let newest = view.servers.iter().map(|server| server.id).max();
        GuardedBackends {
            backends,
            newest: newest.unwrap_or_default(),
            upstreams: self.upstreams.clone(),
            policy: match self.settings.store {
                Some(_) => self.settings.pin,
                // Without a store nothing is pinned.
                None => PinPolicy::Off,
            },
        }
    }

    /// Waits for a run and returns its result, or a task if it takes long and the client supports tasks.
    pub(crate) async fn wait(
        &self,
        call: &HostCall,
        running: &Arc<TrackedRun>,
    ) -> Result<Value, BadRequest> {
        let mut guard = CancelOnDrop::new(running);
        let limit = self.settings.task_after;
        let progress = if call.client.supports_tasks() {
            match tokio::time::timeout(limit, running.wait_for_end()).await {
                Ok(progress) => progress,
                Err(_) => {
                    guard.release();
                    return Ok(answer::task_handle(&running.id, running.began));
                }
            }
        } else {
            running.wait_for_end().await
        };
        guard.release();
        Ok(self.progress_response(&call.client, running, &progress))
    }
}

/// Returns true if a server that is starting may have one of `tools`. Each start has its own timeout, so the wait for it ends.
///
/// A server whose start has failed before is awaited only for tools that have its name: any misspelt name would wait for it
/// again and again.
pub(crate) fn may_gain_tools(
    view: &UpstreamView,
    names: &ServerNames,
    tools: &BTreeSet<String>,
) -> bool {
    let mut servers = view.servers.iter();
    servers.any(|server| {
        let claims = |tool: &String| names.claimants(tool).any(|name| *name == server.name);
        matches!(server.state, UpstreamState::Starting)
            && (!server.first_start_finished || tools.iter().any(claims))
    })
}

/// Returns the reason why a run was not started, as a model reads it.
fn start_failure(error: &planwright::Error) -> String {
    if let planwright::Error::StoredRun(error) = error {
        return format!("the run cannot be stored: {error}");
    }
    error.to_string()
}

/// Reads a plan in any dialect.
fn parse_plan(text: &str, dialect: Option<&str>) -> ParseResult {
    let options = ReadOptions {
        dialect,
        ..ReadOptions::new("plan")
    };
    planwright_dialects::parse(text.as_bytes(), &options)
}

/// Returns the plan as text. Models pass it as an object or as JSON within a text.
fn plan_text(request: &GatewayArguments<'_>) -> Result<String, BadRequest> {
    match request.get("plan") {
        Some(Value::Text(text)) => Ok(text.to_string()),
        Some(value) => Ok(value.to_json()),
        None => Err(BadRequest(
            "the argument `plan` is missing: {\"plan\": {\"steps\": […]}}".to_owned(),
        )),
    }
}

/// Builds the response for a valid plan: a preview of its steps, and its warnings.
fn valid_plan_response(valid: &ValidPlan, is_exposed: bool) -> Value {
    let steps = preview(&valid.plan, &EvaluationLimits::default());
    let steps: Vec<Value> = steps.iter().map(describe_step).collect();
    let mut fields = Object::default();
    fields.insert("status".into(), Value::from("sound"));
    fields.insert("steps".into(), steps.into());
    if is_exposed {
        // Then calls with literals in guarded parameters need an approval.
        fields.insert("exposed".into(), Value::from(true));
    }
    let (warnings, _) = valid.loaded.diagnostics.for_model();
    let warnings: Vec<Value> = warnings.map(answer::diagnostic_value).collect();
    if !warnings.is_empty() {
        fields.insert("findings".into(), warnings.into());
    }
    answer::structured(fields, false)
}

fn describe_step(step: &StepPreview) -> Value {
    let mut fields = vec![("step", Value::Text(Arc::clone(step.step.text())))];
    if let Some(tool) = &step.tool {
        fields.push(("tool", Value::Text(Arc::clone(tool))));
    }
    if !step.after.is_empty() {
        let after = step
            .after
            .iter()
            .map(|id| Value::Text(Arc::clone(id.text())));
        fields.push(("after", Value::list(after)));
    }
    if step.approval {
        fields.push(("approval", Value::from(true)));
    }
    Value::object(fields)
}
