//! Lists of runs, and calls with an unknown outcome.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright_core::Value;
use serde::Serialize;

use crate::{milliseconds, time};

/// The schema's name and version.
pub const RUNS_SCHEMA: &str = "planwright.runs/1";

/// Stored runs.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RunsV1 {
    /// [`RUNS_SCHEMA`].
    pub schema: &'static str,
    /// The runs, the newest first.
    pub runs: Vec<RunListingV1>,
}

/// A stored run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RunListingV1 {
    /// The id of the run.
    pub id: String,
    /// The time of its start, in UTC.
    pub created: String,
    /// The status: `succeeded`, `failed`, `waiting` and `cancelled` as in reports, `running` if a process runs it, `interrupted` if its
    /// last process ended without a final entry.
    pub status: &'static str,
    /// True if the run was imported from a file, without consent and tool sources.
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
    /// The number of steps of the plan.
    pub steps: usize,
    /// The number of steps that have succeeded, failed or been skipped.
    pub done: usize,
    /// The number of calls.
    pub calls: usize,
    /// The duration, in milliseconds, without the time between two processes.
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
    /// A run with nothing but its start and its duration.
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

/// The schema's name and version.
pub const OPEN_CALL_SCHEMA: &str = "planwright.open-call/1";

/// A call that waits for a decision.
#[derive(Clone, Debug, Serialize)]
pub struct OpenCallV1 {
    /// [`OPEN_CALL_SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    pub run: String,
    /// The calling step, item or round.
    pub address: String,
    /// The tool's server.
    pub server: Arc<str>,
    /// The tool's name at its server.
    pub tool: Arc<str>,
    /// All arguments; secrets stand as `[redacted]`.
    pub args: Value,
    /// The reason why a person is asked, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The differences from the call of the previous decision, one clause each.
    pub changes: Vec<String>,
    /// The digest of the call, which `planwright approve --digest` takes.
    pub digest: String,
}
