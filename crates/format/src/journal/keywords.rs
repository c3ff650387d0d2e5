//! Addresses of steps, and the keywords of statuses, kinds of failure and reasons.

use std::sync::Arc;

use planwright_core::StepId;
use planwright_engine::ErrorKind;
use planwright_engine::event::Address;
use planwright_engine::run::{RunStatus, SkipKind, StepStatus};
use serde::{Deserialize, Serialize};

/// Parses the status of a run.
pub fn run_status(keyword: &str) -> Result<RunStatus, String> {
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

/// The maximum nesting of plans, far above what occurs. An address is dropped recursively, so this bounds the stack.
const MAX_NESTED_PLANS: usize = 1024;

/// The positions, the outermost plan first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressV1(Vec<PositionV1>);

/// A step of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionV1 {
    step: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
}

impl AddressV1 {
    /// Encodes an address.
    pub fn encode(address: &Address) -> Self {
        let mut positions = Vec::with_capacity(address.depth() + 1);
        let mut next = Some(address);
        while let Some(at) = next {
            positions.push(PositionV1 {
                step: Arc::clone(at.step.text()),
                instance: at.instance.clone(),
                item: at.item,
                round: at.round,
            });
            next = at.inside.as_deref();
        }
        positions.reverse();
        Self(positions)
    }

    /// Decodes the address.
    ///
    /// # Errors
    ///
    /// A message if it has no positions, or too many.
    pub fn decode(&self) -> Result<Arc<Address>, String> {
        if MAX_NESTED_PLANS < self.0.len() {
            return Err(format!(
                "an address is nested in more than {MAX_NESTED_PLANS} plans"
            ));
        }
        let mut outer = None;
        for position in &self.0 {
            outer = Some(Arc::new(Address {
                inside: outer.take(),
                instance: position.instance.clone(),
                step: StepId::new(Arc::clone(&position.step)),
                item: position.item,
                round: position.round,
            }));
        }
        outer.ok_or_else(|| "an address names no step".to_owned())
    }
}
