//! Rows of the table `entries`, and batches of them.

use planwright_core::Value;
use planwright_engine::StepStatus;
use planwright_engine::journal::{Entry, Record};
use sha2::{Digest as _, Sha256};

use super::blob::Blob;
use crate::numbers::{duration_nanos, to_i64};
use crate::run::RunState;

/// An encoded entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryRow {
    pub(crate) at_ns: i64,
    pub(crate) turn: i64,
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl EntryRow {
    /// The checksum of the row as the entry `number` of the run with the key `run`: the first eight bytes of the SHA-256 over all
    /// columns. It detects damage, not forgery: a program that writes into the store can write checksums as well.
    pub(crate) fn checksum(&self, run: i64, number: i64) -> i64 {
        let mut hash = Sha256::new();
        for number in [run, number, self.at_ns, self.turn] {
            hash.update(number.to_le_bytes());
        }
        hash.update(self.kind.as_bytes());
        // No kind has a zero byte, so no two rows have the same bytes.
        hash.update([0]);
        hash.update(self.body.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        i64::from_le_bytes(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// Encoded entries that are written together, with the large values that they refer to.
#[derive(Debug, Default)]
pub(crate) struct EntryBatch {
    pub(crate) rows: Vec<EntryRow>,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) totals: RunTotals,
}

/// The totals of a run's entries, or of a part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTotals {
    /// The number of steps that have ended for good.
    pub(crate) done: i64,
    /// The number of calls that were sent.
    pub(crate) calls: i64,
    /// The time of the last entry.
    pub(crate) last_ns: i64,
    /// The number of steps of the plan, if these entries changed it.
    pub(crate) steps: Option<i64>,
    /// The state of the run, if these entries changed it.
    pub(crate) standing: Option<RunState>,
}

impl RunTotals {
    pub(crate) fn add(&mut self, entry: &Entry) {
        self.last_ns = to_i64(duration_nanos(entry.at));
        match &entry.record {
            Record::Opened { header, .. } => {
                self.standing = Some(RunState::Open);
                // A process may resume the run with another plan than it began with.
                let steps = header.get("steps").and_then(Value::as_u64);
                self.steps = steps
                    .and_then(|steps| i64::try_from(steps).ok())
                    .or(self.steps);
            }
            Record::Ended { status } => self.standing = Some(RunState::Ended(*status)),
            Record::Extended { steps, .. } => self.steps = i64::try_from(*steps).ok(),
            Record::Sent { .. } => self.calls += 1,
            Record::Settled { at, status, .. } => {
                let is_over = matches!(
                    status,
                    StepStatus::Succeeded | StepStatus::Failed | StepStatus::Skipped
                );
                // Steps of inner plans, items and rounds are parts of a step of the plan.
                let is_whole = at.inside.is_none() && at.item.is_none() && at.round.is_none();
                self.done += i64::from(is_over && is_whole);
            }
            _ => {}
        }
    }

    /// Combines these totals with those of later entries.
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
