//! Goes on with runs, and tells how they stand.

use std::sync::Arc;

use planwright_core::{Object, Value};
use planwright_dialects::ReadOptions;
use planwright_engine::RunStatus;
use planwright_engine::event::Address;
use planwright_engine::run::{Choice, History, PastCall};
use planwright_mcp::gateway::{Client, HostCall};
use planwright_store::RunInfo;

use super::aside::aside;
use super::execute::{Sound, Unsound};
use super::host::PlanHost;
use super::keep::Known;
use super::request::{BadRequest, Request};
use super::running::{Running, Stand};
use planwright::loaded_plan::LoadedPlan;
use planwright::service::{RunSpec, RunStorage};
use planwright::stored::{ResumeRequest, StoredRun, StoredRunError, resolve_choices, tools_of};

/// The changes that a model requests for a run that is resumed.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    /// A plan in the place of the one so far.
    pub(super) plan: Option<String>,
    pub(super) dialect: Option<String>,
    pub(super) inputs: Object,
    /// The steps whose results stay though the plan changes what they were computed from.
    pub(super) keep: Vec<Arc<str>>,
    pub(super) choices: Vec<(Arc<str>, Choice)>,
    /// True if the run ends as cancelled, without a further call.
    pub(super) cancel: bool,
}

impl PlanHost {
    /// `resume_plan`
    pub(super) async fn resume(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let names = [
            "run", "plan", "dialect", "inputs", "keep", "retry", "skip", "set",
        ];
        let request = Request::read("resume_plan", &call.arguments, &names)?;
        let id = request.text("run")?;
        let wishes = Wishes::read(&request)?;
        match self.find(&call.client, id).await? {
            Known::Here(running) if matches!(running.stand(), Stand::Going { .. }) => {
                self.wait(call, &running).await
            }
            Known::Here(running) => match self.kept_of(&call.client, id).await? {
                Some(kept) => self.go_on(call, kept, wishes).await,
                None => Ok(self.standing(&running, &running.stand())),
            },
            Known::Kept(kept) => self.go_on(call, *kept, wishes).await,
        }
    }

    /// `get_run`
    pub(super) async fn get_run(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let request = Request::read("get_run", &call.arguments, &["run"])?;
        let id = request.text("run")?;
        match self.find(&call.client, id).await? {
            Known::Here(running) => Ok(self.standing(&running, &running.stand())),
            Known::Kept(kept) => {
                let (info, run) = *kept;
                if run.status().is_none() {
                    return Ok(self.interrupted(&info.id));
                }
                let plan = run.latest_plan().ok();
                let summary = self.replayed(&info.id, run).await?;
                Ok(self.came_to(&summary, plan.as_ref(), &[]))
            }
        }
    }

    /// Returns the stored form of a run that this process has driven.
    async fn kept_of(
        &self,
        client: &Client,
        id: &str,
    ) -> Result<Option<(RunInfo, StoredRun)>, BadRequest> {
        self.runs.forget(&client.id, id);
        match self.find(client, id).await {
            Ok(Known::Kept(kept)) => Ok(Some(*kept)),
            Ok(Known::Here(_)) | Err(_) => Ok(None),
        }
    }

    /// Goes on with a kept run and waits for it.
    async fn go_on(
        &self,
        call: &HostCall,
        (info, kept): (RunInfo, StoredRun),
        wishes: Wishes,
    ) -> Result<Value, BadRequest> {
        let changes_nothing = wishes.plan.is_none() && wishes.choices.is_empty();
        if kept.status() == Some(RunStatus::Succeeded) && changes_nothing {
            let summary = self.replayed(&info.id, kept).await?;
            return Ok(self.came_to(&summary, None, &[]));
        }
        match self.revive(call, (info, kept), wishes).await {
            Ok(running) => self.wait(call, &running).await,
            Err(unsound) => Ok(self.rejected(&unsound)),
        }
    }

    /// Goes on with a kept run.
    pub(super) async fn revive(
        &self,
        call: &HostCall,
        (info, kept): (RunInfo, StoredRun),
        mut wishes: Wishes,
    ) -> Result<Arc<Running>, Unsound> {
        let id = info.id.as_str();
        let refused = |error: StoredRunError| Unsound::Refused(explained(&error));
        let Sound {
            offered,
            loaded,
            plan,
        } = match &wishes.plan {
            Some(text) => {
                let mut given = kept.vars.clone();
                given.extend(wishes.inputs.clone());
                let dialect = wishes.dialect.as_deref();
                self.checked(&call.client, text, dialect, given).await?
            }
            None => {
                let inputs = wishes.inputs.clone();
                kept.loaded(inputs.clone()).map_err(refused)?;
                let read = || kept.loaded(inputs.clone()).unwrap_or_else(|_| unreadable());
                self.check_when_there(&call.client, read).await?
            }
        };
        let history = kept.history().map_err(refused)?;
        wishes.choices = resolve_choices(&plan, &history, wishes.choices).map_err(refused)?;
        for (step, _) in &wishes.choices {
            in_doubt(step, &history, &kept).map_err(Unsound::Refused)?;
        }
        let mut options = self.options(&plan).map_err(Unsound::Refused)?;
        let before = kept.options();
        options.durations = before.durations;
        options.seal_key = self
            .seal_key()
            .map_err(|error| Unsound::Refused(BadRequest(error.to_string())))?;
        let new_plan = wishes.plan.as_ref().and_then(|_| loaded.to_kept());
        let is_cancelled = wishes.cancel;
        let storage = self
            .prepare(id, &plan, new_plan, &options, wishes, kept)
            .await
            .map_err(Unsound::Refused)?;
        let spec = RunSpec {
            id: id.into(),
            options,
            storage,
            is_cancelled,
            ..RunSpec::new(plan)
        };
        self.launch(call, &offered, spec, info.created)
            .await
            .map_err(Unsound::Refused)
    }

    async fn prepare(
        &self,
        id: &str,
        plan: &planwright_core::CheckedPlan,
        new_plan: Option<planwright::format::PlanTextV1>,
        options: &planwright_engine::RunOptions,
        wishes: Wishes,
        kept: StoredRun,
    ) -> Result<RunStorage, BadRequest> {
        let Some(store) = self.settings.store.clone() else {
            return Err(BadRequest("runs are not kept here".to_owned()));
        };
        let (id, plan, options) = (id.to_owned(), plan.clone(), options.clone());
        let (holder, now) = (self.settings.holder.clone(), (self.settings.now)());
        let prepare = move || {
            let leased = store.hold(&id, &holder)?;
            // It was read before it was held: another request may have gone on with it in between, and ended.
            if leased.entries() != kept.entries.len() {
                return Err(StoredRunError::Outdated);
            }
            let request = ResumeRequest {
                id: &id,
                plan: &plan,
                new_plan,
                options: &options,
                keep: wishes.keep,
                choices: wishes.choices,
                now,
            };
            let prepared = Box::new(request.prepare(&kept, &store)?);
            Ok(RunStorage::Resumed {
                store,
                leased,
                prepared,
            })
        };
        aside(prepare)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error: StoredRunError| explained(&error))
    }
}

impl Wishes {
    fn read(request: &Request<'_>) -> Result<Self, BadRequest> {
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
            keep: request.texts("keep")?,
            choices,
            cancel: false,
        })
    }
}

/// A reading that is never looked at: what it stands for was read before.
fn unreadable() -> LoadedPlan {
    LoadedPlan::new(
        "plan",
        planwright_dialects::parse(b"", &ReadOptions::new("plan")),
    )
}

/// Refuses a model's decision about a call whose outcome is unknown.
fn in_doubt(step: &str, history: &History, kept: &StoredRun) -> Result<(), BadRequest> {
    let tools = kept.latest_plan().map(|plan| tools_of(&plan));
    let tools = tools.unwrap_or_default();
    for (at, past) in history.steps() {
        let is_repeatable = |call: &PastCall| {
            tools.iter().any(|tool| {
                tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
            })
        };
        // A choice about a step covers what runs inside of it.
        let whole = Address::of_step(at.outermost().clone());
        let is_meant = at.to_string() == step || whole.to_string() == step;
        if is_meant && past.calls_in_doubt().any(|call| !is_repeatable(call)) {
            return Err(BadRequest(format!(
                "it is unknown whether the call of `{at}` happened, so only a person can decide what becomes of it"
            )));
        }
    }
    Ok(())
}

/// Returns the reason why a run cannot be resumed, with the way out for a model.
fn explained(error: &StoredRunError) -> BadRequest {
    let way_out = match error {
        StoredRunError::Hidden(name) => {
            format!("; give it again: {{\"inputs\": {{\"{name}\": …}}}}")
        }
        StoredRunError::Doubt { .. } => "; only a person can decide what becomes of it".to_owned(),
        StoredRunError::Outdated => "; look at it with get_run".to_owned(),
        StoredRunError::Done(_) => "; a plan that changes the step runs it again".to_owned(),
        StoredRunError::UnknownStep {
            near: Some(near), ..
        } => format!("; did you mean `{near}`?"),
        _ => String::new(),
    };
    BadRequest(format!("{error}{way_out}"))
}
