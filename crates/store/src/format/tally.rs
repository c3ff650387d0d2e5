//! What entries mean for their run as a whole.

use planwright_core::Value;
use planwright_engine::StepStatus;
use planwright_engine::journal::{Entry, Record};

use super::entry::whole;
use super::record::nanos;
use crate::run::Standing;

/// What entries mean for the run as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How many steps have ended for good.
    pub(crate) done: i64,
    /// How many calls were sent.
    pub(crate) calls: i64,
    /// The time of the last entry.
    pub(crate) last_ns: i64,
    /// How many steps the plan has, where that has changed.
    pub(crate) steps: Option<i64>,
    /// How the run stands, where that has changed.
    pub(crate) standing: Option<Standing>,
}

impl Tally {
    pub(crate) fn count(&mut self, entry: &Entry) {
        self.last_ns = whole(nanos(entry.at));
        match &entry.record {
            Record::Opened { header, .. } => {
                self.standing = Some(Standing::Open);
                // A process may go on with another plan than the run began with.
                let steps = header.get("steps").and_then(Value::as_u64);
                self.steps = steps
                    .and_then(|steps| i64::try_from(steps).ok())
                    .or(self.steps);
            }
            Record::Ended { status } => self.standing = Some(Standing::Ended(*status)),
            Record::Extended { steps, .. } => self.steps = i64::try_from(*steps).ok(),
            Record::Sent { .. } => self.calls += 1,
            Record::Settled { at, status, .. } => {
                let is_over = matches!(
                    status,
                    StepStatus::Succeeded | StepStatus::Failed | StepStatus::Skipped
                );
                let is_whole = at.inside.is_none() && at.item.is_none() && at.round.is_none();
                self.done += i64::from(is_over && is_whole);
            }
            _ => {}
        }
    }

    /// What this and what came after it mean together.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            done: self.done + later.done,
            calls: self.calls + later.calls,
            last_ns: later.last_ns,
            steps: later.steps.or(self.steps),
            standing: later.standing.or(self.standing),
        }
    }
}
