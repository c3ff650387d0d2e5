//! The words that stand for statuses, kinds and reasons.

use planwright_engine::ErrorKind;
use planwright_engine::run::{Because, RunStatus, StepStatus};

/// A word that is not known.
fn unknown(what: &str, word: &str) -> String {
    format!("`{word}` is no {what} that is known here")
}

/// Reads how a run stands.
pub(crate) fn run_status(word: &str) -> Result<RunStatus, String> {
    [
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Waiting,
        RunStatus::Cancelled,
    ]
    .into_iter()
    .find(|status| status.as_str() == word)
    .ok_or_else(|| unknown("status of a run", word))
}

/// Reads how a step ended.
pub(super) fn step_status(word: &str) -> Result<StepStatus, String> {
    [
        StepStatus::Succeeded,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::NotRun,
        StepStatus::Cancelled,
        StepStatus::Waiting,
        StepStatus::Unknown,
    ]
    .into_iter()
    .find(|status| status.as_str() == word)
    .ok_or_else(|| unknown("status of a step", word))
}

/// Reads a kind of failure.
pub(super) fn error_kind(word: &str) -> Result<ErrorKind, String> {
    [
        ErrorKind::Tool,
        ErrorKind::Timeout,
        ErrorKind::Unavailable,
        ErrorKind::Arguments,
        ErrorKind::Reference,
        ErrorKind::Approval,
        ErrorKind::Policy,
        ErrorKind::Budget,
        ErrorKind::Internal,
    ]
    .into_iter()
    .find(|kind| kind.as_str() == word)
    .ok_or_else(|| unknown("kind of failure", word))
}

const REASONS: &[(&str, Because)] = &[
    ("step", Because::Step),
    ("branch", Because::Branch),
    ("condition", Because::Condition),
    ("stopped", Because::Stopped),
    ("person", Because::Person),
];

/// The word for a reason.
pub(super) fn because_word(because: Because) -> Result<&'static str, String> {
    REASONS
        .iter()
        .find(|(_, known)| *known == because)
        .map(|(word, _)| *word)
        .ok_or_else(|| format!("there is no word for the reason {because:?}"))
}

/// Reads a reason.
pub(super) fn because(word: &str) -> Result<Because, String> {
    REASONS
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, because)| *because)
        .ok_or_else(|| unknown("reason", word))
}
