//! Options of runs, and the values of `env` and `secrets` references: texts that go into calls and appear nowhere else. They
//! are redacted in everything that a run reports.
//!
//! Design: [External values go into arguments and nowhere else](https://github.com/planwright/planwright/blob/main/docs/design/secrets.md#external-values-go-into-arguments-and-nowhere-else).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planwright_core::expression::EvaluationLimits;
use planwright_core::plan::{ExternalValue, RetryPolicy};

use crate::approval::SealKey;
use crate::backend::RunData;
use crate::durations::Durations;
use crate::guard::{Guards, WrittenMeter};
use crate::run::MASK;
use crate::schedule::ConcurrencyLimits;

/// The default bound of computed bytes.
pub(crate) const DEFAULT_COMPUTED_BYTES: usize = 1024 * 1024 * 1024;

/// The settings of a run. The defaults are those of the command line.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The limits on concurrent calls; 16 in total by default.
    pub limits: ConcurrencyLimits,
    /// The retry policy of the run, which steps override field by field.
    pub retry: RetryPolicy,
    /// The time that one attempt may be inactive, for steps without their own limit; a minute by default.
    /// Progress of the tool restarts it, an open question to a person pauses it. A backend may replace it by a limit
    /// of its own.
    pub attempt_timeout: Option<Duration>,
    /// The time limit of a step, for steps without their own; none by default. Waiting for a person's consent or
    /// answer does not count.
    pub step_timeout: Option<Duration>,
    /// The policy for the first failure.
    pub on_failure: FailurePolicy,
    /// The completeness of the plan.
    pub plan_state: PlanState,
    /// Texts that are replaced by `[redacted]` in events and summaries. Texts shorter than
    /// [`MIN_SECRET_BYTES`](crate::run::MIN_SECRET_BYTES) bytes are shown, because they occur in every message by chance.
    pub secrets: Vec<Arc<str>>,
    /// The values of the plan's references to `env` and `secrets`, redacted like `secrets`.
    pub secret_values: SecretValues,
    /// The key for sealing consent to calls with secrets, from the store of the run. Without it, consent to such a
    /// call does not outlive the process.
    pub seal_key: Option<SealKey>,
    /// Expected call durations, which determine the order in which ready calls start. They do not affect the outcome of a run.
    pub durations: Durations,
    /// Cost limits of expressions.
    pub evaluation: EvaluationLimits,
    /// The maximum number of bytes that steps may compute, 1 GiB by default: texts that are put together, new values
    /// of expressions. It bounds memory as well; outputs of tools do not count.
    pub computed_bytes: usize,
    /// The maximum number of tasks: steps, items, rounds, steps of inner plans; 200,000 by default. It bounds memory:
    /// items, rounds and inner plans that would exceed it fail. The plan's own steps count, but always run.
    pub max_tasks: usize,
    /// Bounds on calls, bytes, time and rates.
    pub guards: Guards,
    /// The meter of written bytes, for readers outside of the run.
    pub meter: WrittenMeter,
    /// The caller's data of the run, which functions can read from the [context](crate::backend::CallContext) of a call.
    pub data: RunData,
}

/// The policy for steps that do not depend on a failed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The plan decides.
    #[default]
    AsPlan,
    /// The run starts nothing new.
    Stop,
}

/// The completeness of the plan when the run starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanState {
    /// The plan is complete: the run ends with its last step.
    #[default]
    Complete,
    /// Steps may be added: the run ends with its last step after [`RunHandle::close`](crate::RunHandle::close).
    Open,
    /// The plan is provisional until [`RunHandle::close`](crate::RunHandle::close): until then only steps start that
    /// [may start early](planwright_core::CheckedPlan::can_start_speculatively). All others wait, whatever they depend on.
    Provisional,
}

impl RunOptions {
    /// All texts that are redacted in the run's reports, except the plan's own secret inputs.
    pub fn masked_texts(&self) -> Vec<Arc<str>> {
        let texts = self.secret_values.texts();
        self.secrets.iter().cloned().chain(texts).collect()
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            limits: ConcurrencyLimits::default(),
            retry: RetryPolicy::default(),
            attempt_timeout: Some(Duration::from_mins(1)),
            step_timeout: None,
            on_failure: FailurePolicy::AsPlan,
            plan_state: PlanState::Complete,
            secrets: Vec::new(),
            secret_values: SecretValues::new(),
            seal_key: None,
            durations: Durations::default(),
            evaluation: EvaluationLimits::default(),
            computed_bytes: DEFAULT_COMPUTED_BYTES,
            max_tasks: 200_000,
            guards: Guards::default(),
            meter: WrittenMeter::default(),
            data: RunData::default(),
        }
    }
}

/// Values of `env` and `secrets` references: texts that go into calls and appear nowhere else. They are redacted in
/// everything that a run reports.
#[derive(Clone, Default)]
pub struct SecretValues {
    texts: IndexMap<(ExternalValue, Arc<str>), Arc<str>>,
    /// True if a name without a value resolves to `[redacted]`.
    is_masked: bool,
}

impl SecretValues {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a set that resolves every name to `[redacted]`, for runs that call no tool.
    pub fn masked() -> Self {
        Self {
            is_masked: true,
            ..Self::default()
        }
    }

    /// Adds a text. It replaces an earlier one of the same name.
    #[must_use]
    pub fn with(
        mut self,
        what: ExternalValue,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        self.texts.insert((what, name.into()), text.into());
        self
    }

    /// The text of that name.
    pub fn get(&self, what: ExternalValue, name: &str) -> Option<Arc<str>> {
        let found = self.texts.get(&(what, Arc::from(name))).map(Arc::clone);
        found.or_else(|| self.is_masked.then(|| Arc::from(MASK)))
    }

    /// All texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = Arc<str>> {
        let mask = self.is_masked.then(|| Arc::from(MASK));
        self.texts.values().cloned().chain(mask)
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the names: the texts are secret.
        let names = self.texts.keys();
        f.debug_list()
            .entries(names.map(|(what, name)| format!("{what}.{name}")))
            .finish()
    }
}
