//! How a run goes about its work.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::expression::EvaluationLimits;

use crate::approval::SealKey;
use crate::confidential::Confidential;
use crate::durations::Durations;
use crate::guard::{Guards, WrittenMeter};
use crate::schedule::Limits;

/// What steps may compute, where nobody says otherwise.
pub(crate) const COMPUTED_BYTES: usize = 1024 * 1024 * 1024;

/// The settings of a run. The defaults are those of the command line.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How many calls may be under way at the same time; 16 by default.
    pub limits: Limits,
    /// Attempts in all, for steps that do not say otherwise; 1 by default.
    pub attempts: NonZeroU32,
    /// The pause before the second attempt, 250 ms by default; it doubles from there, up to a minute, and varies by up to a fifth.
    pub retry_delay: Duration,
    /// The time that one attempt may go without a sign of life, for steps without a limit of their own; a minute by default. Progress of
    /// the tool restarts it, an open question to a person stops it. A backend may replace it by a limit of its own.
    pub attempt_timeout: Option<Duration>,
    /// The time that a step may take, for steps that do not say otherwise; any by default. Waiting for
    /// a person's consent or answer does not count.
    pub step_timeout: Option<Duration>,
    /// What the first failure means.
    pub on_failure: FailurePolicy,
    /// Whether steps may still be added.
    pub arrival: Arrival,
    /// Texts that no event and no summary may show: they stand as `[redacted]` there. Those shorter than
    /// [`SHORTEST`](crate::run::SHORTEST) bytes are shown: they would blank out half of every message.
    pub secrets: Vec<Arc<str>>,
    /// What the plan's references to `env` and `secrets` stand for, masked like `secrets`.
    pub confidential: Confidential,
    /// The key that consent to calls with secrets is sealed with, from the store of the run. Without it, consent to such a call does
    /// not outlive the process.
    pub seal_key: Option<SealKey>,
    /// How long calls are expected to take; what waits for a place starts accordingly. The outcome of a run does not
    /// depend on it.
    pub durations: Durations,
    /// What expressions may cost.
    pub evaluation: EvaluationLimits,
    /// The most bytes that steps may make of what they are given, 1 GiB by default: texts that are put together, new values of
    /// expressions. It bounds memory as well; what tools give does not count.
    pub computed_bytes: usize,
    /// The most tasks that a run may come to: steps, items, rounds, steps of inner plans; 200,000 by default. It bounds memory: items, rounds
    /// and inner plans that would go beyond it fail. The plan's own steps count, and run in any case.
    pub max_tasks: usize,
    /// How much the run may call, how long, how fast.
    pub guards: Guards,
    /// Counts what the run writes, for readers outside of it.
    pub meter: WrittenMeter,
}

/// What the first failure means for steps that do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// As the plan says.
    #[default]
    AsPlan,
    /// Nothing new starts.
    Stop,
}

/// Whether steps may still be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// No: the run ends with its last step.
    #[default]
    Complete,
    /// Yes: the run ends with its last step after [`RunHandle::close`](crate::RunHandle::close).
    Growing,
    /// Yes, and the plan is not whole before [`RunHandle::close`](crate::RunHandle::close): until then only steps start that
    /// [may start early](planwright_core::CheckedPlan::may_start_early). All others wait, whatever they depend on.
    Tentative,
}

impl RunOptions {
    /// All texts that stand as `[redacted]` in what a run tells, but for the plan's own secret inputs.
    pub fn masked_texts(&self) -> Vec<Arc<str>> {
        let given = self.confidential.texts();
        self.secrets.iter().cloned().chain(given).collect()
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            attempts: NonZeroU32::MIN,
            retry_delay: Duration::from_millis(250),
            attempt_timeout: Some(Duration::from_mins(1)),
            step_timeout: None,
            on_failure: FailurePolicy::AsPlan,
            arrival: Arrival::Complete,
            secrets: Vec::new(),
            confidential: Confidential::new(),
            seal_key: None,
            durations: Durations::default(),
            evaluation: EvaluationLimits::default(),
            computed_bytes: COMPUTED_BYTES,
            max_tasks: 200_000,
            guards: Guards::default(),
            meter: WrittenMeter::default(),
        }
    }
}
