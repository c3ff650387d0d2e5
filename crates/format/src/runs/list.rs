//! Lists of runs, calls with an unknown outcome, and comparisons: of two runs, and of a run with its replay.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright_core::place::{PointerSegment, push_pointer_segment};
use planwright_core::{PlanDigest, ServerName, Value};
use planwright_engine::RunId;
use planwright_engine::run::{ReplayError, ReplayReport};
use serde::Serialize;

use super::RecordV1;
use crate::{ErrorV1, milliseconds, time};

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
    #[cfg_attr(test, schemars(with = "String"))]
    pub id: RunId,
    /// The time of its start, in UTC.
    pub created: String,
    /// The status: `succeeded`, `failed`, `waiting` and `cancelled` as in reports, `running` if a process runs it, `interrupted` if its
    /// last process ended without a final entry.
    pub status: &'static str,
    /// True if the run was imported from a file, without consent and tool sources.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// The process that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The machine of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The plan's name.
    pub plan: Option<String>,
    /// The plan's digest, as the run began.
    #[cfg_attr(test, schemars(with = "String"))]
    pub digest: PlanDigest,
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

impl RunsV1 {
    /// Creates a list of runs.
    pub fn new(runs: Vec<RunListingV1>) -> Self {
        Self {
            schema: RUNS_SCHEMA,
            runs,
        }
    }
}

impl RunListingV1 {
    /// Creates a run with nothing but its start and its duration.
    pub fn new(id: RunId, created: SystemTime, duration: Duration) -> Self {
        Self {
            id,
            created: time::timestamp(created),
            status: "interrupted",
            imported: false,
            pid: None,
            host: None,
            plan: None,
            digest: PlanDigest::from(""),
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
    pub run: RunId,
    /// The calling step, item or round.
    pub address: String,
    /// The tool's server.
    pub server: ServerName,
    /// The tool's name at its server.
    pub tool: Arc<str>,
    /// All arguments; secrets are `[redacted]`.
    pub args: Value,
    /// The reason why a person is asked, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The differences from the call of the previous decision, one clause each.
    pub changes: Vec<String>,
    /// The digest of the call, which `planwright approve --digest` takes.
    pub digest: String,
}

/// The schema's name and version.
pub const WAITING_SCHEMA: &str = "planwright.waiting/1";

/// The calls that wait for a decision.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingV1 {
    /// [`WAITING_SCHEMA`].
    pub schema: &'static str,
    /// The calls.
    pub calls: Vec<OpenCallV1>,
}

impl WaitingV1 {
    /// Creates the document of these calls.
    pub fn new(calls: Vec<OpenCallV1>) -> Self {
        Self {
            schema: WAITING_SCHEMA,
            calls,
        }
    }
}

/// The schema's name and version.
pub const DIFF_SCHEMA: &str = "planwright.diff/1";

/// The largest number of places that are reported within one value.
const MAX_CHANGES: usize = 1000;

/// The difference between two runs.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct DiffV1 {
    /// [`DIFF_SCHEMA`].
    pub schema: &'static str,
    /// True if nothing differs but times.
    pub same: bool,
    /// The run that was named first.
    pub before: RunListingV1,
    /// The run that was named second.
    pub after: RunListingV1,
    /// The duration of the second run as a multiple of the first.
    pub duration_ratio: Option<f64>,
    /// The difference between their plans.
    pub plan: PlanDiffV1,
    /// The difference between their inputs.
    pub inputs: Vec<ChangeV1>,
    /// The steps, items and rounds of both, in the order of the second one's plan.
    pub steps: Vec<StepDiffV1>,
}

/// The difference between two plans.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanDiffV1 {
    /// True if both mean the same.
    pub same: bool,
    /// The steps that only the second has.
    pub added: Vec<String>,
    /// The steps that only the first has.
    pub removed: Vec<String>,
    /// The steps that differ in the second.
    pub changed: Vec<String>,
}

/// The difference of a step, an item or a round.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct StepDiffV1 {
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    pub address: String,
    /// True if nothing differs but times.
    pub same: bool,
    /// The outcome in the first run; none if that run has no such step.
    pub before: Option<StepSideV1>,
    /// The outcome in the second run; none if that run has no such step.
    pub after: Option<StepSideV1>,
    /// The duration in the second run as a multiple of the first.
    pub duration_ratio: Option<f64>,
    /// The difference of its arguments.
    pub args: Vec<ChangeV1>,
    /// The difference of its output.
    pub output: Vec<ChangeV1>,
}

/// The outcome of a step in one of the runs.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepSideV1 {
    /// The status.
    pub status: &'static str,
    /// The number of calls of its tool.
    pub attempts: u32,
    /// The duration, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The reason of the failure.
    pub error: Option<ErrorV1>,
}

/// A place at which two values differ.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeV1 {
    /// The place, as a JSON pointer; empty for the whole value.
    pub pointer: String,
    /// The value in the first run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub before: Option<Value>,
    /// The value in the second run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub after: Option<Value>,
}

/// The schema's name and version.
pub const PLAN_TEXTS_DIFF_SCHEMA: &str = "planwright.plan-diff/1";

/// The difference between two plans as texts.
#[derive(Clone, Debug, Serialize)]
pub struct PlanTextsDiffV1 {
    /// [`PLAN_TEXTS_DIFF_SCHEMA`].
    pub schema: &'static str,
    /// True if there is no difference. The order of steps does not count.
    pub same: bool,
    /// The ids of the steps that only the second plan has.
    pub added: Vec<String>,
    /// The ids of the steps that only the first plan has.
    pub removed: Vec<String>,
    /// The steps that both plans have, with differences.
    pub changed: Vec<ChangedStepV1>,
    /// The differences outside the steps, as places in the plan.
    pub plan: Vec<ChangeV1>,
}

/// A step that two plans have, with differences.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedStepV1 {
    /// The id of the step.
    pub step: String,
    /// The differences, as places in the step in Planwright's own dialect.
    pub changes: Vec<ChangeV1>,
}

impl PlanTextsDiffV1 {
    /// Creates the document of these differences.
    pub fn new(
        added: Vec<String>,
        removed: Vec<String>,
        changed: Vec<ChangedStepV1>,
        plan: Vec<ChangeV1>,
    ) -> Self {
        let same = added.is_empty() && removed.is_empty() && changed.is_empty() && plan.is_empty();
        Self {
            schema: PLAN_TEXTS_DIFF_SCHEMA,
            same,
            added,
            removed,
            changed,
            plan,
        }
    }
}

/// Returns the differences of two values, as deep as possible, at most the first thousand.
pub fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<ChangeV1> {
    let mut changes = Vec::new();
    compare("", before, after, &mut changes);
    changes
}

/// The schema's name and version.
pub const REPLAY_SCHEMA: &str = "planwright.replay/1";

/// The replay of a run from its journal.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct ReplayV1 {
    /// [`REPLAY_SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    #[cfg_attr(test, schemars(with = "String"))]
    pub run: RunId,
    /// True if the run decides the same again, to the end of its journal.
    pub same: bool,
    /// The number of processes that drove it; none if that was not proved.
    pub processes: Option<usize>,
    /// The number of compared decisions; none if not all could be compared.
    pub decisions: Option<usize>,
    /// The status of the run at the end of its journal.
    pub status: Option<&'static str>,
    /// The first divergence.
    pub divergence: Option<DivergenceV1>,
    /// The reason why the replay failed or diverged, as one clause.
    pub error: Option<String>,
}

/// A decision that the replay makes differently.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceV1 {
    /// The turn of the driver, from 0.
    pub turn: u64,
    /// The record in the journal.
    pub written: RecordV1,
    /// The record of the replay; none if the replay does nothing.
    pub now: Option<RecordV1>,
}

impl ReplayV1 {
    /// Returns the document about a result.
    pub fn new<E: Display>(run: RunId, result: &Result<ReplayReport, ReplayError<E>>) -> Self {
        let replayed = result.as_ref().ok();
        let error = result.as_ref().err();
        Self {
            schema: REPLAY_SCHEMA,
            run,
            same: result.is_ok(),
            processes: replayed.map(|replayed| replayed.processes),
            decisions: replayed.map(|replayed| replayed.decisions),
            status: replayed.map(|replayed| replayed.summary.status.as_str()),
            divergence: error.and_then(DivergenceV1::of),
            error: error.map(ToString::to_string),
        }
    }
}

impl DivergenceV1 {
    fn of<E>(error: &ReplayError<E>) -> Option<Self> {
        match error {
            ReplayError::Diverged { turn, written, now } => Some(Self {
                turn: *turn,
                written: RecordV1::from(&**written),
                now: now.as_deref().map(RecordV1::from),
            }),
            ReplayError::ReplayHeader(_)
            | ReplayError::NoOpening
            | ReplayError::Extension { .. }
            | ReplayError::UnknownAddress { .. } => None,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn compare(
    pointer: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<ChangeV1>,
) {
    if before == after || MAX_CHANGES <= changes.len() {
        return;
    }
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|key| !old.contains_key(&***key));
            for key in old.keys().chain(added) {
                let inner = at(pointer, &PointerSegment::Key(key.clone()));
                compare(&inner, old.get(&**key), new.get(&**key), changes);
            }
        }
        (Some(Value::List(old)), Some(Value::List(new))) => {
            for index in 0..old.len().max(new.len()) {
                let inner = at(pointer, &PointerSegment::Index(index));
                compare(&inner, old.get(index), new.get(index), changes);
            }
        }
        _ => changes.push(ChangeV1 {
            pointer: pointer.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

fn at(pointer: &str, segment: &PointerSegment) -> String {
    let mut inner = pointer.to_owned();
    push_pointer_segment(&mut inner, segment);
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        let value = |text: &str| Value::from_json(text).ok();
        let found: Vec<String> = changes(value(before).as_ref(), value(after).as_ref())
            .iter()
            .map(|change| {
                let json = |value: &Option<Value>| {
                    value
                        .as_ref()
                        .map_or_else(|| "nothing".to_owned(), Value::to_json)
                };
                format!(
                    "{}: {} {}",
                    change.pointer,
                    json(&change.before),
                    json(&change.after)
                )
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn values_differ_at_places() {
        check("1", "1", &[]);
        check("", "1", &[": nothing 1"]);
        check(
            r#"{"a": 1, "b": [1, 2]}"#,
            r#"{"b": [1, 3, 4], "c": null}"#,
            &[
                "/a: 1 nothing",
                "/b/1: 2 3",
                "/b/2: nothing 4",
                "/c: nothing null",
            ],
        );
        check(r#"{"a/b": 1}"#, r#"{"a/b": {}}"#, &["/a~1b: 1 {}"]);
    }
}
