//! The options of a process that resumes a run.

use std::fmt;
use std::sync::Arc;

use planwright_core::expression::EvaluationLimits;
use planwright_engine::approval::SealKey;
use planwright_engine::{RunOptions, SecretValues};

use super::StoredRun;

/// The options of a run that are never stored, so that each process brings its own.
#[derive(Default)]
pub struct ProcessSecrets {
    /// Texts that no event and no summary may show.
    pub texts: Vec<Arc<str>>,
    /// The values of `env` and `secrets` references.
    pub values: SecretValues,
    /// The key of the store, which seals consent.
    pub seal_key: Option<SealKey>,
}

impl StoredRun {
    /// Returns the options of a process that resumes the run, from its own [`options`](Self::options) or other ones. The moment and the
    /// durations stay those of the run, and `own` takes the place of what no run stores.
    pub fn resumed_options(&self, options: RunOptions, own: ProcessSecrets) -> RunOptions {
        let before = self.options();
        RunOptions {
            durations: before.durations,
            evaluation: EvaluationLimits {
                // A plan that asks for the time again gets the same one, or its done steps would not fit the others.
                now: before.evaluation.now,
                ..options.evaluation
            },
            secrets: own.texts,
            secret_values: own.values,
            seal_key: own.seal_key,
            ..options
        }
    }
}

impl fmt::Debug for ProcessSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessSecrets").finish_non_exhaustive()
    }
}
