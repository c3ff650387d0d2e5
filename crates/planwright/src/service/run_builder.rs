//! A run before it starts.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{ExternalValue, RetryPolicy};
use planwright_core::{CheckedPlan, Value};
use planwright_engine::RunId;
#[cfg(feature = "store")]
use planwright_engine::StartError;
use planwright_engine::backend::RunData;
#[cfg(feature = "store")]
use planwright_engine::journal::check_history;
use planwright_engine::options::{FailurePolicy, PlanState};
use planwright_engine::{Approver, Durations, Guards, History, Journal, RunOptions, RunSummary};
#[cfg(feature = "store")]
use planwright_store::Store;

#[cfg(feature = "store")]
use super::store::{approver_of, new_run};
use super::{Error, Planwright, Run, RunSpec, RunStorage};

/// A run before it starts. Awaiting it starts the run and returns its summary; [`start`](Self::start) returns the [`Run`].
///
/// Options that are not set here are those of the [builder](super::Builder::options) of the tools.
#[must_use = "a run starts when it is awaited or started"]
pub struct RunBuilder {
    planwright: Planwright,
    plan: CheckedPlan,
    id: Option<RunId>,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    journal: Option<(Arc<dyn Journal>, Value)>,
    history: Option<History>,
    #[cfg(feature = "store")]
    store: Option<Store>,
    #[cfg(feature = "store")]
    waits: bool,
}

impl Planwright {
    /// Runs a plan: await it for the summary, or set more first.
    ///
    /// The plan may have been checked by another [`Planwright`], as long as its tools are the same here and the policy allows them; see
    /// [`verify`](Self::verify).
    pub fn run(&self, plan: CheckedPlan) -> RunBuilder {
        RunBuilder::new(self.clone(), plan)
    }

    /// Starts a plan, to watch it or to add to it.
    ///
    /// # Errors
    ///
    /// The errors of [`RunBuilder::start`], such as [`Error::NoRuntime`] outside of a tokio runtime.
    ///
    /// # Panics
    ///
    /// See [`RunBuilder::start`].
    pub fn start(&self, plan: CheckedPlan) -> Result<Run, Error> {
        self.run(plan).start()
    }
}

impl RunBuilder {
    fn new(planwright: Planwright, plan: CheckedPlan) -> Self {
        let open = planwright.open();
        Self {
            id: None,
            approver: Arc::clone(&open.approver),
            options: open.options.clone(),
            journal: None,
            history: None,
            #[cfg(feature = "store")]
            store: None,
            #[cfg(feature = "store")]
            waits: false,
            planwright,
            plan,
        }
    }

    /// The run's id; a random one by default, or that of the [history](Self::after).
    /// Servers see it as a part of each call's idempotency key, so no two runs in progress have one id.
    pub fn id(mut self, id: RunId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets all options at once, in place of the current ones, such as those that a run was [stored](crate::stored) with. Secrets stay secret
    /// that were so before.
    pub fn options(mut self, options: RunOptions) -> Self {
        let secrets = std::mem::replace(&mut self.options, options).secrets;
        self.options.secrets.extend(secrets);
        self
    }

    /// Sets the maximum number of calls in flight; default: 16.
    pub fn max_parallel(mut self, calls: NonZeroUsize) -> Self {
        self.options.limits.total = calls;
        self
    }

    /// Sets the retry policy of the run, which steps override field by field.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = policy;
        self
    }

    /// Sets the time limit of an attempt; default: a minute.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.options.attempt_timeout = Some(limit);
        self
    }

    /// Sets the time limit of a step, for steps without their own.
    pub fn step_timeout(mut self, limit: Duration) -> Self {
        self.options.step_timeout = Some(limit);
        self
    }

    /// Starts nothing new after the first failure.
    pub fn fail_fast(mut self) -> Self {
        self.options.on_failure = FailurePolicy::Stop;
        self
    }

    /// Sets the limits on calls, time and rates. They replace all earlier ones, those of a configuration too.
    pub fn guards(mut self, guards: Guards) -> Self {
        self.options.guards = guards;
        self
    }

    /// Sets the durations of calls, from an earlier [summary](RunSummary::durations): the longest calls start first.
    pub fn durations(mut self, durations: Durations) -> Self {
        self.options.durations = durations;
        self
    }

    /// Keeps the run open after its last step, until [`Run::finish`] or [`Run::close`], so that steps can be [added](Run::extend).
    pub fn growing(mut self) -> Self {
        self.options.plan_state = PlanState::Open;
        self
    }

    /// Data of the caller that all functions of this run can read from the [context](planwright_engine::backend::CallContext) of a call, such as the
    /// tenant. Plans cannot see or change it, and it is not stored.
    pub fn data(mut self, data: impl std::any::Any + Send + Sync) -> Self {
        self.options.data = RunData::new(data);
        self
    }

    /// Adds a text that no event and no summary may show. A text that is shorter than
    /// [`MIN_SECRET_BYTES`](planwright_engine::run::MIN_SECRET_BYTES) bytes is shown nevertheless, because it occurs in
    /// every message by chance.
    pub fn secret(mut self, text: impl Into<Arc<str>>) -> Self {
        self.options.secrets.push(text.into());
        self
    }

    /// Sets the value of `${env.NAME}` or `${secrets.NAME}` for tools to which the [policy](crate::service::Builder::policy) lets
    /// a tool have it. No event and no summary shows it, unless it is too short, see [`secret`](Self::secret).
    pub fn outside(
        mut self,
        what: ExternalValue,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        self.options.secret_values = self.options.secret_values.with(what, name, text);
        self
    }

    /// Sets the approver of calls that need a person's consent.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Records the run in `journal`: each call before it is sent, each answer before it is used. `header` is data of your own, stored
    /// first; [`Value::Null`] if you supply the plan again on resume. Give such a run an [id](Self::id): a journal belongs to one run.
    /// It replaces [`stored_in`](Self::stored_in), which needs no journal.
    pub fn journal(mut self, journal: impl Journal, header: Value) -> Self {
        self.journal = Some((Arc::new(journal), header));
        #[cfg(feature = "store")]
        {
            self.store = None;
        }
        self
    }

    /// Resumes from the journal that `history` was read from: steps that succeeded are not run again. The plan must be the one
    /// that the journal was written for, and the run has the [id](Self::id) of the journal unless you set another.
    ///
    /// For a plan that changed in between, resume a [stored](Self::stored_in) run with [`Resume::plan`](super::Resume::plan).
    pub fn after(mut self, history: History) -> Self {
        self.history = Some(history);
        self
    }

    /// Stores the run in `store` under `id`, with its plan and its inputs, so that this or another process can
    /// [resume](Planwright::resume) it. Decisions that another process [stores](planwright_store::Store::decide) about its calls are
    /// honoured; calls without one are left to the [approver](Self::approver).
    #[cfg(feature = "store")]
    pub fn stored_in(mut self, store: &Store, id: RunId) -> Self {
        self.store = Some(store.clone());
        self.journal = None;
        self.id(id)
    }

    /// Waits for decisions that other processes [store](planwright_store::Store::decide), if the approver puts a call off, instead of ending
    /// the run as waiting. Only for runs that are [stored](Self::stored_in).
    #[cfg(feature = "store")]
    pub fn wait_for_decisions(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Starts the run in the tokio runtime that this is called in.
    ///
    /// # Errors
    ///
    /// If the run must not start. After an error, nothing was called.
    ///
    /// - [`Error::OtherTools`]: the plan was checked with other tools or rules, see [`Planwright::verify`].
    /// - [`Error::OtherPlan`]: the [history](Self::after) is that of another plan.
    /// - [`Error::InProgress`]: a run with this id is in progress.
    /// - [`Error::Start`]: the history belongs to another run; the journal holds another run, or more than the history.
    /// - [`Error::StoredRun`]: the store has a run of this id, cannot store this one, or could not read the plan again.
    ///
    /// - [`Error::NoRuntime`]: there is no tokio runtime here.
    ///
    /// # Panics
    ///
    /// Later, if the runtime has no clock
    /// ([`enable_time`](https://docs.rs/tokio/latest/tokio/runtime/struct.Builder.html#method.enable_time)): the run panics, and with it any task that
    /// awaits it.
    pub fn start(self) -> Result<Run, Error> {
        let known = self.history.as_ref().and_then(History::plan_digest);
        if known.is_some_and(|digest| digest != self.plan.digest()) {
            return Err(Error::OtherPlan);
        }
        let of_history = self.history.as_ref().and_then(History::run);
        let id = self.id.or_else(|| of_history.cloned());
        let mut spec = RunSpec {
            id: id.unwrap_or_else(RunId::random),
            options: self.options,
            approver: self.approver,
            ..RunSpec::new(self.plan)
        };
        #[cfg(feature = "store")]
        if let Some(store) = self.store {
            // A new run: earlier results are resumed from their store only.
            check_history(0, self.history.as_ref()).map_err(StartError::from)?;
            spec.approver = approver_of(&store, spec.approver, self.waits);
            self.planwright.verify(&spec.plan)?;
            spec.storage = new_run(&self.planwright, &spec.plan, store)?;
            return self.planwright.launch(spec);
        }
        if let Some((journal, header)) = self.journal {
            spec.storage = RunStorage::Journal {
                journal,
                header,
                history: self.history,
                #[cfg(feature = "store")]
                store: None,
            };
        } else if let Some(history) = self.history {
            spec.storage = RunStorage::History(history);
        }
        self.planwright.launch(spec)
    }
}

impl IntoFuture for RunBuilder {
    type Output = Result<RunSummary, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// [Starts](Self::start) the run and waits for its end. Dropping the future abandons the run and its calls.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.start()?.finish().await) })
    }
}

impl fmt::Debug for RunBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder")
            .field("id", &self.id)
            .field("plan", &self.plan.plan().name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
