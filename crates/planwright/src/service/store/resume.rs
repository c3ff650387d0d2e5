//! A stored run before it is resumed.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use planwright_core::plan::ExternalValue;
use planwright_core::{CheckedPlan, Object, Value};
use planwright_engine::RunId;
use planwright_engine::backend::RunData;
use planwright_engine::run::Choice;
use planwright_engine::{Approver, Guards, RunOptions, RunSummary, SecretValues};
use planwright_store::{Store, StoreError};

use super::link::now;
use super::start::{approver_of, holder, plan_text};
use crate::service::{Error, Planwright, Run, RunSpec, RunStorage};
use crate::stored::{
    ProcessSecrets, ResumeRequest, RetainedResults, StoredRun, StoredRunError, set_results,
};

/// A stored run before it is resumed. Awaiting it resumes the run and returns its summary; [`start`](Self::start) returns the [`Run`].
///
/// Steps that succeeded keep their results. A call whose outcome is unknown is made again only if its tool is idempotent or
/// [you say so](Self::retry). The options are those that the run had last.
#[must_use = "a run is resumed when it is awaited or started"]
pub struct Resume {
    planwright: Planwright,
    store: Store,
    id: RunId,
    plan: Option<CheckedPlan>,
    inputs: Object,
    retain: Vec<Arc<str>>,
    choices: Vec<(Arc<str>, Choice)>,
    approver: Arc<dyn Approver>,
    waits: bool,
    options: Option<RunOptions>,
    guards: Option<Guards>,
    secrets: Vec<Arc<str>>,
    secret_values: SecretValues,
    data: RunData,
    is_cancelled: bool,
}

impl Planwright {
    /// Resumes the run `id` of `store`, which this or another process [began](crate::service::RunBuilder::stored_in): await it for the summary, or set more
    /// first.
    pub fn resume(&self, store: &Store, id: RunId) -> Resume {
        Resume::new(self.clone(), store.clone(), id)
    }
}

impl Resume {
    fn new(planwright: Planwright, store: Store, id: RunId) -> Self {
        let open = planwright.open();
        Self {
            approver: Arc::clone(&open.approver),
            secrets: open.options.secrets.clone(),
            secret_values: open.options.secret_values.clone(),
            data: open.options.data.clone(),
            planwright,
            store,
            id,
            plan: None,
            inputs: Object::default(),
            retain: Vec::new(),
            choices: Vec::new(),
            waits: false,
            options: None,
            guards: None,
            is_cancelled: false,
        }
    }

    /// Resumes with this plan in place of the stored one. Unchanged steps keep their results, unless those were computed from a
    /// step that the plan changes: [`stale_steps`](crate::stored::stale_steps) lists such steps, and [`retain`](Self::retain)
    /// retains their results. Changed and new steps run. If the outcome of a step is unknown, changing or removing the step
    /// requires a [choice](Self::retry) about it.
    pub fn plan(mut self, plan: CheckedPlan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Retains the result of a step although the [new plan](Self::plan) changes its inputs.
    pub fn retain(mut self, step: impl Into<Arc<str>>) -> Self {
        self.retain.push(step.into());
        self
    }

    /// The value of an input of the stored plan, in place of the stored one. Secret inputs are not stored, so they are given again.
    pub fn input(mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.inputs.insert(name.into(), value.into());
        self
    }

    /// Calls the tool of a step again, even if it may have been called before. `step` is its address, as summaries and events write it.
    pub fn retry(self, step: impl Into<Arc<str>>) -> Self {
        self.choice(step, Choice::Retry)
    }

    /// Skips a step.
    pub fn skip(self, step: impl Into<Arc<str>>) -> Self {
        self.choice(step, Choice::Skip)
    }

    /// Resumes as if a step had given `value`.
    pub fn set(self, step: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.choice(step, Choice::Set(value.into()))
    }

    fn choice(mut self, step: impl Into<Arc<str>>, choice: Choice) -> Self {
        self.choices.push((step.into(), choice));
        self
    }

    /// Decides about calls that need consent, unless the store has a decision.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Waits for decisions that other processes [store](Store::decide), if the approver puts a call off, instead of ending the run as
    /// waiting.
    pub fn wait_for_decisions(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Sets all options but the time of the run and its durations, in place of those that the run had last. Earlier secrets stay secret.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = Some(options);
        self
    }

    /// The bounds of the run, in place of those that it had.
    pub fn guards(mut self, guards: Guards) -> Self {
        self.guards = Some(guards);
        self
    }

    /// Text that no event and no summary may show, see [`RunBuilder::secret`](crate::service::RunBuilder::secret).
    pub fn secret(mut self, text: impl Into<Arc<str>>) -> Self {
        self.secrets.push(text.into());
        self
    }

    /// The value of `${env.NAME}` or `${secrets.NAME}`, see [`RunBuilder::outside`](crate::service::RunBuilder::outside).
    pub fn outside(
        mut self,
        what: ExternalValue,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        self.secret_values = self.secret_values.with(what, name, text);
        self
    }

    /// All values of `env` and `secrets` references at once.
    pub fn secret_values(mut self, values: SecretValues) -> Self {
        self.secret_values = values;
        self
    }

    /// Data of the caller that all functions of this run can read, see [`RunBuilder::data`](crate::service::RunBuilder::data). It is not stored, so it is
    /// given again.
    pub fn data(mut self, data: impl std::any::Any + Send + Sync) -> Self {
        self.data = RunData::new(data);
        self
    }

    /// Ends the run as cancelled in place of continuing it: nothing is called.
    pub(super) fn cancelled(mut self) -> Self {
        self.is_cancelled = true;
        self
    }

    /// Resumes the run in the tokio runtime that this is called in.
    ///
    /// # Errors
    /// If the run cannot be resumed. Then nothing was called.
    ///
    /// - [`Error::StoredRun`]: there is no such run, another process has it, it cannot be read, a secret input is missing, or a
    ///   choice or the new plan does not fit the run.
    /// - [`Error::Rejected`]: the stored plan is not sound with the tools here.
    /// - [`Error::InProgress`]: a run with this id is in progress in this process.
    /// - [`Error::OtherTools`]: the [new plan](Self::plan) was checked with other tools.
    ///
    /// # Panics
    ///
    /// See [`RunBuilder::start`](crate::service::RunBuilder::start).
    pub fn start(self) -> Result<Run, Error> {
        let Self {
            planwright,
            store,
            id,
            plan,
            inputs,
            retain,
            choices,
            approver,
            waits,
            options,
            guards,
            secrets,
            secret_values,
            data,
            is_cancelled,
        } = self;
        // A store accepts the beginning of an id, which is only for people.
        let info = store.run(id.as_str()).map_err(StoredRunError::from)?;
        if info.id != id {
            let missing = StoreError::Missing {
                what: "run",
                selector: id.to_string(),
            };
            return Err(StoredRunError::from(missing).into());
        }
        let leased = store
            .lease_run(id.as_str(), &holder())
            .map_err(StoredRunError::from)?;
        let stored = StoredRun::read(&store, id.as_str())?;
        let is_replaced = plan.is_some();
        let plan = match plan {
            Some(plan) => {
                planwright.verify(&plan)?;
                plan
            }
            None => stored_plan(&planwright, &stored, inputs)?,
        };
        let added = stored.retained_steps(&id, &retain, &planwright.open().policy)?;
        let mut retained = stored.retained.clone();
        retained.extend(added.iter().cloned());
        let before = stored.history()?;
        let chooser = planwright.open().policy.flow.as_ref();
        let set = set_results(&plan, &before, &choices, chooser.map(|flow| flow.planner))?;
        retained.extend(set.iter().cloned());
        let lacks_labels = is_replaced || !set.is_empty();
        let plan = if lacks_labels && plan.flow().is_some() && retained.iter().next().is_some() {
            with_retained(&planwright, plan, &retained)?
        } else {
            plan
        };
        let mut options = options.unwrap_or_else(|| RunOptions {
            // The limits of expressions that are not stored.
            evaluation: planwright.options().evaluation.clone(),
            computed_bytes: planwright.options().computed_bytes,
            ..stored.options()
        });
        options.guards = guards.unwrap_or(options.guards);
        let own = ProcessSecrets {
            texts: [options.secrets.as_slice(), &secrets].concat(),
            values: secret_values,
            seal_key: Some(store.seal_key().map_err(StoredRunError::from)?),
        };
        let mut options = stored.resumed_options(options, own);
        options.data = data;
        let is_new = is_replaced && before.plan_digest() != Some(plan.digest());
        let request = ResumeRequest {
            id: &id,
            plan: &plan,
            new_plan: is_new.then(|| plan_text(&planwright, &plan)).transpose()?,
            options: &options,
            retained: added,
            set,
            choices,
            now: now(),
        };
        let prepared = request.prepare(&stored, &store)?;
        planwright.launch(RunSpec {
            approver: approver_of(&store, approver, waits),
            id,
            options,
            storage: RunStorage::Resumed {
                store,
                leased,
                prepared: Box::new(prepared),
            },
            is_cancelled,
            ..RunSpec::new(plan)
        })
    }
}

/// Returns the plan with a flow analysis that includes the retained results of an earlier plan. The caller has checked the plan
/// without them.
fn with_retained(
    planwright: &Planwright,
    plan: CheckedPlan,
    retained: &RetainedResults,
) -> Result<CheckedPlan, Error> {
    let policy = &planwright.open().policy;
    let (plan, violations) = plan.with_retained(policy, &retained.labels());
    plan.ok_or(Error::Rejected(violations))
}

/// The stored plan, checked with the tools here.
fn stored_plan(
    planwright: &Planwright,
    stored: &StoredRun,
    inputs: Object,
) -> Result<CheckedPlan, Error> {
    let open = planwright.open();
    let (plan, loaded) = stored.loaded(inputs)?.check(&open.catalog, &open.policy);
    match plan {
        Some(plan) => Ok(plan.with_warnings(loaded.diagnostics)),
        None => Err(Error::Rejected(loaded.diagnostics)),
    }
}

impl IntoFuture for Resume {
    type Output = Result<RunSummary, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// [Resumes](Self::start) the run and waits for its end. Dropping the future abandons the run and its calls.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.start()?.finish().await) })
    }
}

impl fmt::Debug for Resume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resume")
            .field("id", &self.id)
            .field("store", &self.store)
            .field("choices", &self.choices)
            .finish_non_exhaustive()
    }
}
