//! A run before it starts.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::Outside;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::options::{Arrival, FailurePolicy};
use planwright_engine::{
    Approver, Durations, Guards, History, Journal, RunOptions, RunSummary, Start,
};

use super::{Planwright, Run};

/// A run before it starts. Awaiting it starts it and gives its summary; [`start`](Self::start) gives the [`Run`].
///
/// What is not said here is as the [builder](super::Builder::options) of the tools says.
#[must_use = "a run starts when it is awaited or started"]
pub struct RunBuilder {
    planwright: Planwright,
    plan: CheckedPlan,
    id: Option<Arc<str>>,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    journal: Option<(Arc<dyn Journal>, Value)>,
    history: Option<History>,
}

impl RunBuilder {
    pub(super) fn new(planwright: Planwright, plan: CheckedPlan) -> Self {
        let open = planwright.open();
        Self {
            id: None,
            approver: Arc::clone(&open.approver),
            options: open.options.clone(),
            journal: None,
            history: None,
            planwright,
            plan,
        }
    }

    /// The run's id; a random one where none is given. Servers see it as a part of each call's key, so a run that goes on
    /// [after](Self::after) what earlier processes did needs the id that they gave it.
    pub fn id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// All options at once, in place of what was said before, such as those that a run was [kept](crate::kept) with. Secrets stay secret
    /// that were so before.
    pub fn options(mut self, options: RunOptions) -> Self {
        let secrets = std::mem::replace(&mut self.options, options).secrets;
        self.options.secrets.extend(secrets);
        self
    }

    /// The most calls that may be under way at the same time; 16 where nothing is said.
    pub fn max_parallel(mut self, calls: NonZeroUsize) -> Self {
        self.options.limits.total = calls;
        self
    }

    /// The attempts in all, for steps that do not say otherwise; 1 where nothing is said.
    pub fn attempts(mut self, attempts: NonZeroU32) -> Self {
        self.options.attempts = attempts;
        self
    }

    /// The pause before the second attempt, 250 ms where nothing is said; it doubles from there, up to a minute, and varies by up to a fifth.
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.options.retry_delay = delay;
        self
    }

    /// The longest that one attempt may take; a minute where nothing is said.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.options.attempt_timeout = Some(limit);
        self
    }

    /// The longest that a step may take, for steps that do not say otherwise.
    pub fn step_timeout(mut self, limit: Duration) -> Self {
        self.options.step_timeout = Some(limit);
        self
    }

    /// Starts nothing new after the first failure.
    pub fn fail_fast(mut self) -> Self {
        self.options.on_failure = FailurePolicy::Stop;
        self
    }

    /// How much the run may call, how long, how fast. They take the place of all that were there, those of a configuration too.
    pub fn guards(mut self, guards: Guards) -> Self {
        self.options.guards = guards;
        self
    }

    /// How long calls take, from an earlier [summary](RunSummary::durations): what takes longest starts first.
    pub fn durations(mut self, durations: Durations) -> Self {
        self.options.durations = durations;
        self
    }

    /// Lets the run go on after its last step, until [`Run::finish`] or [`Run::close`]: further steps may
    /// [come](Run::extend).
    pub fn growing(mut self) -> Self {
        self.options.arrival = Arrival::Growing;
        self
    }

    /// Text that no event and no summary may show. What is shorter than [`SHORTEST`](planwright_engine::run::SHORTEST) bytes is shown all the
    /// same: it would blank out half of every message.
    pub fn secret(mut self, text: impl Into<Arc<str>>) -> Self {
        self.options.secrets.push(text.into());
        self
    }

    /// What `${env.NAME}` or `${secrets.NAME}` stands for, where the [policy](crate::embedding::Builder::policy) lets a tool have it. No
    /// event and no summary shows it, unless it is as short as in [`secret`](Self::secret).
    pub fn outside(
        mut self,
        what: Outside,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        self.options.confidential = self.options.confidential.with(what, name, text);
        self
    }

    /// Who decides about calls that need a person's consent.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Keeps what happens in `journal`: each call before it is sent, each answer before anything needs it. `header` goes
    /// into its first entry, for whoever wants the run to go on later; [`Value::Null`] will do for a program that knows its plans. Give
    /// such a run an [id](Self::id).
    pub fn journal(mut self, journal: impl Journal, header: Value) -> Self {
        self.journal = Some((Arc::new(journal), header));
        self
    }

    /// Goes on with a run after what its journal holds: what is done is not done again. Steps are known by their ids alone, so that a plan
    /// may be mended in between: a step that is done stays done, whatever its arguments would be now. Whether it is the plan of that
    /// journal is for its caller to know, or for [`kept`](crate::kept), which does; so is the [id](Self::id).
    pub fn after(mut self, history: History) -> Self {
        self.history = Some(history);
        self
    }

    /// Starts the run in the tokio runtime that this is called in. It needs the runtime's clock.
    pub fn start(self) -> Run {
        let engine = self
            .planwright
            .open()
            .engine
            .clone()
            .with_options(self.options)
            .with_approver(self.approver);
        let id = self.id.unwrap_or_else(random_id);
        let mut start = Start::new(Arc::clone(&id), self.plan.clone());
        if let Some((journal, header)) = self.journal {
            start = start.with_journal(journal, header);
        }
        if let Some(history) = self.history {
            start = start.after(history);
        }
        let (handle, events) = engine.launch(start);
        Run::new(self.planwright, id, self.plan, handle, events)
    }
}

impl IntoFuture for RunBuilder {
    type Output = RunSummary;
    type IntoFuture = Pin<Box<dyn Future<Output = RunSummary> + Send>>;

    /// Dropping the future gives the run up, and its calls with it.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.start().finish().await })
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

/// An id that nobody guesses.
pub(crate) fn random_id() -> Arc<str> {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish()).into()
}
