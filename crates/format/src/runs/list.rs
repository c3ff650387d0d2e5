//! The runs that are kept, `planwright.runs/1`.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::milliseconds;
use crate::time;

/// The schema's name and version.
pub const RUNS_SCHEMA: &str = "planwright.runs/1";

/// Runs that are kept.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RunsV1 {
    /// [`RUNS_SCHEMA`].
    pub schema: &'static str,
    /// The runs, the newest first.
    pub runs: Vec<RunListingV1>,
}

/// A run that is kept.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RunListingV1 {
    /// Its id.
    pub id: String,
    /// When it began, in UTC.
    pub created: String,
    /// How it stands: `succeeded`, `failed`, `waiting` and `cancelled` as reports say it, `running` where a process has
    /// it, `interrupted` where its last process ended without a word.
    pub status: &'static str,
    /// Whether it came from a file: it brought no consent and no tool sources.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// The process that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The machine of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The plan's name.
    pub plan: Option<String>,
    /// The plan's digest, as the run began.
    pub digest: String,
    /// The dialect that the plan is written in.
    pub dialect: Option<String>,
    /// How many steps the plan has.
    pub steps: usize,
    /// How many of them have succeeded, failed or been skipped.
    pub done: usize,
    /// How many calls were sent.
    pub calls: usize,
    /// How long it took, in milliseconds; the time between two processes does not count.
    pub duration_ms: f64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl RunsV1 {
    /// A list of runs.
    pub fn new(runs: Vec<RunListingV1>) -> Self {
        Self {
            schema: RUNS_SCHEMA,
            runs,
        }
    }
}

impl RunListingV1 {
    /// A run of which nothing is known but when it began and how long it took.
    pub fn new(id: &str, created: SystemTime, duration: Duration) -> Self {
        Self {
            id: id.to_owned(),
            created: time::timestamp(created),
            status: "interrupted",
            imported: false,
            pid: None,
            host: None,
            plan: None,
            digest: String::new(),
            dialect: None,
            steps: 0,
            done: 0,
            calls: 0,
            duration_ms: milliseconds(duration),
        }
    }
}
