//! The keywords of statuses, kinds of failure and reasons.

use planwright_engine::ErrorKind;
use planwright_engine::run::{RunStatus, SkipKind, StepStatus};

/// Parses the status of a run.
pub(crate) fn run_status(keyword: &str) -> Result<RunStatus, String> {
    let all = [
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Waiting,
        RunStatus::Cancelled,
    ];
    find(&all, |status| status.as_str(), "status of a run", keyword)
}

/// Parses the status of a step.
pub(super) fn step_status(keyword: &str) -> Result<StepStatus, String> {
    let all = [
        StepStatus::Succeeded,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::NotRun,
        StepStatus::Cancelled,
        StepStatus::Waiting,
        StepStatus::Unknown,
    ];
    find(&all, |status| status.as_str(), "status of a step", keyword)
}

/// Parses a kind of failure.
pub(super) fn error_kind(keyword: &str) -> Result<ErrorKind, String> {
    let all = [
        ErrorKind::Tool,
        ErrorKind::Timeout,
        ErrorKind::Unavailable,
        ErrorKind::Arguments,
        ErrorKind::Reference,
        ErrorKind::Approval,
        ErrorKind::Policy,
        ErrorKind::Budget,
        ErrorKind::Internal,
    ];
    find(&all, |kind| kind.as_str(), "kind of failure", keyword)
}

/// The keywords of reasons.
const REASONS: &[(&str, SkipKind)] = &[
    ("step", SkipKind::Step),
    ("branch", SkipKind::Branch),
    ("condition", SkipKind::Condition),
    ("stopped", SkipKind::Stopped),
    ("person", SkipKind::Person),
];

/// Returns the keyword of a reason.
pub(super) fn because_keyword(because: SkipKind) -> Result<&'static str, String> {
    let known = REASONS.iter().find(|(_, known)| *known == because);
    known
        .map(|(keyword, _)| *keyword)
        .ok_or_else(|| format!("the reason {because:?} has no keyword"))
}

/// Parses a reason.
pub(super) fn because(keyword: &str) -> Result<SkipKind, String> {
    find(REASONS, |(known, _)| known, "reason", keyword).map(|(_, because)| because)
}

fn find<T: Copy>(
    all: &[T],
    keyword_of: impl Fn(&T) -> &str,
    what: &str,
    keyword: &str,
) -> Result<T, String> {
    let found = all
        .iter()
        .find(|candidate| keyword_of(candidate) == keyword);
    found
        .copied()
        .ok_or_else(|| format!("`{keyword}` is no known {what}"))
}
