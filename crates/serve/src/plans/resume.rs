//! Resumption and state of runs, and the approvers of their calls: the first decision counts, be it of the person at the client or
//! of `planwright approve`.

use std::sync::Arc;

use planwright::format::RetainedStepV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::service::{RunSpec, RunStorage};
use planwright::stored::{
    ProcessSecrets, ResumeRequest, RetainedResults, StoredRun, StoredRunError, resolve_choices,
    set_results, tools_of,
};
use planwright_core::flow::PlannerLabel;
use planwright_core::{Object, Tool, Value};
use planwright_dialects::ReadOptions;
use planwright_engine::RunId;
use planwright_engine::RunStatus;
use planwright_engine::event::Address;
use planwright_engine::run::{Choice, History, PastCall};
use planwright_mcp::gateway::{ClientId, GatewayClient, HostCall};
use planwright_store::RunInfo;

use crate::host::{PlanHost, spawn_blocking_limited};
use crate::plans::execute::{InvalidPlan, ValidPlan};
use crate::response::answer;
use crate::runs::lookup::FoundRun;
use crate::runs::registry::{RunProgress, TrackedRun, owner};
use crate::tools::CallFailure;
use crate::tools::arguments::{BadRequest, GatewayArguments};

/// The changes that a model requests for a run that is resumed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResumeChanges {
    /// The plan that replaces the previous one.
    pub(crate) plan: Option<String>,
    pub(crate) dialect: Option<String>,
    pub(crate) inputs: Object,
    /// The steps whose results stay although the plan changes their inputs.
    pub(crate) retain: Vec<Arc<str>>,
    pub(crate) choices: Vec<(Arc<str>, Choice)>,
}

impl PlanHost {
    /// Handles `resume_plan`.
    pub(crate) async fn resume(&self, call: &HostCall) -> Result<Value, CallFailure> {
        let names = [
            "run", "plan", "dialect", "inputs", "keep", "retry", "skip", "set",
        ];
        let request = GatewayArguments::read("resume_plan", &call.arguments, &names)?;
        let id = request.text("run")?;
        let changes = ResumeChanges::read(&request)?;
        match self.find(&call.client, id).await? {
            FoundRun::Local(running)
                if matches!(running.progress(), RunProgress::InProgress { .. }) =>
            {
                Ok(self.wait(call, &running).await?)
            }
            FoundRun::Local(running) => match self.read_stored_run(&call.client, id).await? {
                Some(stored) => Ok(Box::pin(self.resume_and_wait(call, stored, changes)).await?),
                None => Ok(self.progress_response(&call.client, &running, &running.progress())),
            },
            FoundRun::Stored(stored) => {
                Ok(Box::pin(self.resume_and_wait(call, *stored, changes)).await?)
            }
        }
    }

    /// Handles `get_run`.
    pub(crate) async fn get_run(&self, call: &HostCall) -> Result<Value, CallFailure> {
        let request = GatewayArguments::read("get_run", &call.arguments, &["run"])?;
        let id = request.text("run")?;
        match self.find(&call.client, id).await? {
            FoundRun::Local(running) => {
                Ok(self.progress_response(&call.client, &running, &running.progress()))
            }
            FoundRun::Stored(stored) => {
                let (info, run) = *stored;
                if run.status().is_none() {
                    return Ok(match info.holder {
                        Some(_) => self.foreign_run_response(&info.id),
                        None => self.interrupted_response(&info.id),
                    });
                }
                Ok(self.stored_response(&call.client, &info.id, run).await?)
            }
        }
    }

    /// Returns the stored form of a run that this process has driven.
    pub(crate) async fn read_stored_run(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Result<Option<(RunInfo, StoredRun)>, BadRequest> {
        self.runs
            .remove_ended(id, |owner| self.sees_runs_of(client, owner));
        match self.find(client, id).await {
            Ok(FoundRun::Stored(stored)) => Ok(Some(*stored)),
            Ok(FoundRun::Local(_)) | Err(_) => Ok(None),
        }
    }

    /// Resumes a stored run and waits for it.
    async fn resume_and_wait(
        &self,
        call: &HostCall,
        (info, stored): (RunInfo, StoredRun),
        changes: ResumeChanges,
    ) -> Result<Value, BadRequest> {
        let changes_nothing = changes.plan.is_none() && changes.choices.is_empty();
        if stored.status() == Some(RunStatus::Succeeded) && changes_nothing {
            return self.stored_response(&call.client, &info.id, stored).await;
        }
        match self.resume_stored(call, (info, stored), changes).await {
            Ok(running) => self.wait(call, &running).await,
            Err(invalid) => Ok(self.rejection_response(&invalid)),
        }
    }

    /// Resumes a stored run. If an earlier process was asked to cancel it and did not, it ends as cancelled, without a further call.
    pub(crate) async fn resume_stored(
        &self,
        call: &HostCall,
        (info, stored): (RunInfo, StoredRun),
        mut changes: ResumeChanges,
    ) -> Result<Arc<TrackedRun>, InvalidPlan> {
        let id = &info.id;
        let refused = |error: StoredRunError| InvalidPlan::Refused(bad_request(&error));
        // A choice about an undo says for good what became of the call that it undoes.
        if stored.run.reverts.is_some() && !changes.choices.is_empty() {
            return Err(InvalidPlan::Refused(BadRequest(format!(
                "the run `{id}` undoes another one, so a person decides about its steps, with `planwright resume {id}`"
            ))));
        }
        if changes.has_texts_of_client() && stored.planner() == Some(PlannerLabel::Exposed) {
            // The run may contain text that its author wrote.
            self.note_unknown_answer(&call.client);
        }
        let (stored, added) = self
            .retained_results(&call.client, id, stored, &changes.retain)
            .await
            .map_err(InvalidPlan::Refused)?;
        let mut retained = stored.retained.clone();
        retained.extend(added.iter().cloned());
        let mut valid = self
            .check_resumed(&call.client, &stored, &changes, &retained)
            .await?;
        let history = stored.history().map_err(refused)?;
        let choices = std::mem::take(&mut changes.choices);
        changes.choices = resolve_choices(&valid.plan, &history, choices).map_err(refused)?;
        for (step, _) in &changes.choices {
            refuse_doubtful(step, &history, &stored).map_err(InvalidPlan::Refused)?;
        }
        let chooser = self.policy(&call.client).flow.map(|flow| flow.planner);
        let set = set_results(&valid.plan, &history, &changes.choices, chooser).map_err(refused)?;
        if !set.is_empty() {
            // Only the plan tells which steps the choices name.
            retained.extend(set.iter().cloned());
            valid = self
                .check_resumed(&call.client, &stored, &changes, &retained)
                .await?;
        }
        let ValidPlan {
            snapshot,
            loaded,
            plan,
        } = valid;
        let mut options = self
            .options(&call.client, &plan)
            .map_err(InvalidPlan::Refused)?;
        let own = ProcessSecrets {
            texts: std::mem::take(&mut options.secrets),
            values: std::mem::take(&mut options.secret_values),
            seal_key: self
                .seal_key()
                .map_err(|error| InvalidPlan::Refused(BadRequest(error.to_string())))?,
        };
        let options = stored.resumed_options(options, own);
        let new_plan = changes.plan.as_ref().and_then(|_| loaded.to_stored());
        let of = stored.run.client.clone();
        let of = of.map_or_else(ClientId::local, ClientId::new);
        // Before the run is leased: a refusal must not interrupt it.
        let slot = self
            .reserve(&call.client, &of)
            .map_err(InvalidPlan::Refused)?;
        let prepared = self.prepare(
            (id, &call.client, &of),
            &plan,
            new_plan,
            &options,
            (changes, added, set),
            stored,
        );
        // The future is large, and so would be those of all callers.
        let (storage, is_cancelled) = Box::pin(prepared).await.map_err(InvalidPlan::Refused)?;
        let spec = RunSpec {
            id: id.clone(),
            options,
            storage,
            is_cancelled,
            client: Some(of.as_str().into()),
            ..RunSpec::new(plan)
        };
        let warnings = answer::warnings(&loaded.diagnostics);
        self.launch(call, &snapshot, (spec, slot), (info.created, warnings))
            .await
            .map_err(InvalidPlan::Refused)
    }

    /// Checks the plan with which a run is resumed, with the labels of the results that it does not compute.
    async fn check_resumed(
        &self,
        client: &GatewayClient,
        stored: &StoredRun,
        changes: &ResumeChanges,
        retained: &RetainedResults,
    ) -> Result<ValidPlan, InvalidPlan> {
        let with_retained = |loaded: LoadedPlan| loaded.with_retained(retained.labels());
        if let Some(text) = &changes.plan {
            let mut inputs = stored.vars.clone();
            inputs.extend(changes.inputs.clone());
            let dialect = changes.dialect.as_deref();
            return self
                .check_adjusted(client, text, dialect, inputs, with_retained)
                .await;
        }
        let read = || stored.loaded(changes.inputs.clone()).map(with_retained);
        read().map_err(|error| InvalidPlan::Refused(bad_request(&error)))?;
        // The author of the plan stays the same, unless the client adds values.
        let author = stored.planner().filter(|_| !changes.has_texts_of_client());
        let read = || read().unwrap_or_else(|_| unread_plan());
        // The rules for another client must not drop the approvals that the rules for the owner require.
        let is_own = stored.run.client == owner(&client.id);
        let asks = |tool: &Tool| !is_own && stored.asks(tool);
        self.check_labelled(client, author, asks, read).await
    }

    /// Returns the results of the steps `retain` with their labels, which the analysis of the new plan does not know.
    async fn retained_results(
        &self,
        client: &GatewayClient,
        id: &RunId,
        stored: StoredRun,
        retain: &[Arc<str>],
    ) -> Result<(StoredRun, Vec<RetainedStepV1>), BadRequest> {
        if retain.is_empty() {
            return Ok((stored, Vec::new()));
        }
        let (id, policy, steps) = (id.clone(), self.policy(client), retain.to_vec());
        let read = move || {
            let retained = stored.retained_steps(&id, &steps, &policy)?;
            Ok((stored, retained))
        };
        spawn_blocking_limited(read)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error: StoredRunError| bad_request(&error))
    }

    /// Leases a stored run and prepares its start. Also returns true if the run has to be cancelled.
    async fn prepare(
        &self,
        (id, client, of): (&RunId, &GatewayClient, &ClientId),
        plan: &planwright_core::CheckedPlan,
        new_plan: Option<planwright::format::PlanTextV1>,
        options: &planwright_engine::RunOptions,
        (changes, retained, set): (ResumeChanges, Vec<RetainedStepV1>, Vec<RetainedStepV1>),
        stored: StoredRun,
    ) -> Result<(RunStorage, bool), BadRequest> {
        let Some(store) = self.settings.store.clone() else {
            return Err(BadRequest("this gateway stores no runs".to_owned()));
        };
        let (id, plan, options) = (id.clone(), plan.clone(), options.clone());
        let (holder, now) = (self.holder(client, of), (self.settings.now)());
        let prepare = move || {
            let leased = store.lease_run(id.as_str(), &holder)?;
            // The run was read before it was leased: another request may have resumed and ended it in between.
            if leased.entries() != stored.entries.len() {
                return Err(StoredRunError::Outdated);
            }
            let request = ResumeRequest {
                id: &id,
                plan: &plan,
                new_plan,
                options: &options,
                retained,
                set,
                choices: changes.choices,
                now,
            };
            let prepared = Box::new(request.prepare(&stored, &store)?);
            let is_cancelled = leased.is_cancel_requested();
            let storage = RunStorage::Resumed {
                store,
                leased,
                prepared,
            };
            Ok((storage, is_cancelled))
        };
        spawn_blocking_limited(prepare)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error: StoredRunError| bad_request(&error))
    }
}

impl ResumeChanges {
    /// Returns true if the client writes a plan, or values of a plan.
    fn has_texts_of_client(&self) -> bool {
        let mut choices = self.choices.iter();
        self.plan.is_some()
            || !self.inputs.is_empty()
            || choices.any(|(_, choice)| matches!(choice, Choice::Set(_)))
    }

    fn read(request: &GatewayArguments<'_>) -> Result<Self, BadRequest> {
        let plan = request.get("plan").map(|plan| match plan {
            Value::Text(text) => text.to_string(),
            other => other.to_json(),
        });
        let retry = request.texts("retry")?.into_iter();
        let skip = request.texts("skip")?.into_iter();
        let set = request.object("set")?.unwrap_or_default();
        let mut choices: Vec<(Arc<str>, Choice)> = Vec::new();
        choices.extend(retry.map(|step| (step, Choice::Retry)));
        choices.extend(skip.map(|step| (step, Choice::Skip)));
        choices.extend(
            set.into_iter()
                .map(|(step, value)| (step, Choice::Set(value))),
        );
        Ok(Self {
            plan,
            dialect: request.optional_text("dialect")?.map(str::to_owned),
            inputs: request.object("inputs")?.unwrap_or_default(),
            retain: request.texts("keep")?,
            choices,
        })
    }
}

/// Returns an empty plan for an unreachable case: the same stored plan was read without errors just before.
fn unread_plan() -> LoadedPlan {
    LoadedPlan::new(
        "plan",
        planwright_dialects::parse(b"", &ReadOptions::new("plan")),
    )
}

/// Refuses a model's decision about a call whose outcome is unknown.
fn refuse_doubtful(step: &str, history: &History, stored: &StoredRun) -> Result<(), BadRequest> {
    let tools = stored.latest_plan().map(|plan| tools_of(&plan));
    let tools = tools.unwrap_or_default();
    for (at, past) in history.steps() {
        let is_repeatable = |call: &PastCall| {
            tools.iter().any(|tool| {
                tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
            })
        };
        // A choice about a step covers its parts.
        let whole = Address::of_step(at.outermost().clone());
        let is_meant = at.to_string() == step || whole.to_string() == step;
        if is_meant && past.calls_in_doubt().any(|call| !is_repeatable(call)) {
            return Err(BadRequest(format!(
                "it is unknown whether the call of `{at}` happened, so only a person can decide about it"
            )));
        }
    }
    Ok(())
}

/// Returns the reason why a run cannot be resumed, with the way out for a model.
fn bad_request(error: &StoredRunError) -> BadRequest {
    let hint = match error {
        StoredRunError::Hidden(name) => {
            format!("; give it again: {{\"inputs\": {{\"{name}\": …}}}}")
        }
        StoredRunError::Doubt { .. } => "; only a person can decide what becomes of it".to_owned(),
        StoredRunError::Outdated => "; look at it with get_run".to_owned(),
        StoredRunError::Done(_) => "; a plan that changes the step runs it again".to_owned(),
        StoredRunError::UnknownStep {
            near: Some(near), ..
        } => format!("; did you mean `{near}`?"),
        StoredRunError::Store(_)
        | StoredRunError::Passphrase(_)
        | StoredRunError::NoDialect
        | StoredRunError::Unreadable(_)
        | StoredRunError::Unsound
        | StoredRunError::OtherPlan
        | StoredRunError::NotShown { .. }
        | StoredRunError::UnknownDialect(_)
        | StoredRunError::Unwritable(_)
        | StoredRunError::Unfinished
        | StoredRunError::DrivenBy(_)
        | StoredRunError::NotStale(_)
        | StoredRunError::Reverted(_)
        | StoredRunError::IsRevert(_)
        | StoredRunError::RevertWaits(_)
        | StoredRunError::Superseded(_)
        | StoredRunError::NotStored
        | StoredRunError::NoCall(_)
        | StoredRunError::ServerRuns { .. }
        | StoredRunError::UnknownStep { near: None, .. }
        | StoredRunError::AmbiguousStep { .. }
        | StoredRunError::Twice(_)
        | StoredRunError::Ended
        | StoredRunError::WrongOutput { .. } => String::new(),
    };
    BadRequest(format!("{error}{hint}"))
}
