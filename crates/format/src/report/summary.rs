//! The report of a run, `planwright.report/1`.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planwright_core::flow::{
    Confidentiality, FlowParameter, FlowReport, FlowVerdict, Integrity, PlannerLabel,
};
use planwright_core::{Diagnostic, Value};
use planwright_engine::backend::ErrorKind;
use planwright_engine::event::Address;
use planwright_engine::run::{
    CallSummary, RevertSummary, RunStatus, RunSummary, SkipReason, StepPreview, StepStatus,
    StepSummary,
};
use planwright_engine::{RunId, ToolError};
use serde::{Serialize, Serializer};

use super::UsageV1;
use crate::RevisionV1;

/// The schema's name and version.
pub const REPORT_SCHEMA: &str = "planwright.report/1";

/// The report of a run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct ReportV1 {
    /// [`REPORT_SCHEMA`].
    pub schema: &'static str,
    /// The run's id; an empty text if nothing ran.
    #[serde(serialize_with = "or_empty")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub run: Option<RunId>,
    /// The plan.
    pub plan: PlanV1,
    /// The dialect that it was written in.
    pub dialect: Option<String>,
    /// The status.
    pub status: ReportStatus,
    /// The duration, in milliseconds.
    pub duration_ms: f64,
    /// The output that a model receives.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub output: Value,
    /// The steps, in plan order.
    pub steps: Vec<StepV1>,
    /// All calls, in the order in which they were sent, except those of steps that a person has decided about with `resume --skip`
    /// or `--set`.
    pub calls: Vec<CallV1>,
    /// The variables at the end.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub vars: Value,
    /// The state at the end.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub state: Value,
    /// The data at the end.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub data: Value,
    /// The state of each instance at the end.
    #[cfg_attr(
        test,
        schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")
    )]
    pub instances: IndexMap<Arc<str>, Value>,
    /// True if a model wrote another plan during the run.
    #[serde(skip_serializing_if = "is_false")]
    pub replanned: bool,
    /// The reasons for each change of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<RevisionV1>,
    /// The tokens and the cost of models in this process: of answers about other plans or arguments, and of steps that extract data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageV1>,
    /// The flow of data, if the plan was checked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<ReportFlowV1>,
    /// The revert of the run, if its plan has `on_failure: revert` and it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert: Option<ReportRevertV1>,
    /// The diagnostics of the plan, before and during the run.
    #[cfg_attr(test, schemars(with = "Vec<crate::reference::DiagnosticShape>"))]
    pub diagnostics: Vec<Diagnostic>,
}

/// The revert of a run: another run undid what it did.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportRevertV1 {
    /// The run that reverts; `null` if there was nothing to undo, or it did not start.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub run: Option<RunId>,
    /// The status of that run.
    pub status: Option<ReportStatus>,
    /// The reason why it did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The steps, items and rounds whose calls happened and have no undo.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub unreverted: Vec<Arc<str>>,
    /// The steps, items and rounds with calls that may or may not have happened.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub in_doubt: Vec<Arc<str>>,
}

impl From<&RevertSummary> for ReportRevertV1 {
    fn from(revert: &RevertSummary) -> Self {
        Self {
            run: revert.run.clone(),
            status: revert.status.map(ReportStatus::from),
            error: revert.error.clone(),
            unreverted: revert.unreverted.clone(),
            in_doubt: revert.in_doubt.clone(),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The flow of data in a run: the violations of the policy with their outcomes, and the labels of the output.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportFlowV1 {
    /// `clean`, `warns`, `asks` or `denied`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub verdict: FlowVerdict,
    /// The digest of the policy.
    pub policy: Arc<str>,
    /// The label of the planner: `clean` or `exposed`.
    pub planner: &'static str,
    /// The violations.
    pub violations: Vec<ReportViolationV1>,
    /// `untrusted` if the output contains data of untrusted origin, else `trusted`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub output_integrity: Integrity,
    /// `private` if the output contains private data, else `public`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub output_confidentiality: Confidentiality,
}

/// A violation of the flow policy, and the outcome of the call.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportViolationV1 {
    /// The parameter, as `planwright.flow/1` has it.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    #[serde(flatten)]
    pub parameter: FlowParameter,
    /// `approved` if the call was made with consent, `rejected` if a person refused it, `waiting` if it was not decided, `not_made`
    /// if no person was asked.
    pub decision: &'static str,
}

impl ReportFlowV1 {
    /// Creates the flow of a run with these steps.
    pub fn new(flow: &FlowReport, steps: &[StepSummary]) -> Self {
        let violations = flow.violations().map(|parameter| ReportViolationV1 {
            parameter: parameter.clone(),
            decision: decision(&parameter.step, steps),
        });
        Self {
            verdict: flow.verdict(),
            policy: Arc::clone(&flow.policy),
            planner: match flow.planner {
                PlannerLabel::Clean => "clean",
                PlannerLabel::Exposed => "exposed",
            },
            violations: violations.collect(),
            output_integrity: flow.output.integrity,
            output_confidentiality: flow.output.confidentiality,
        }
    }
}

/// Returns the outcome of the calls of the step at `path`. Of several items or rounds, a waiting call takes precedence.
fn decision(path: &str, steps: &[StepSummary]) -> &'static str {
    fn collect(path: &str, steps: &[StepSummary], found: &mut Vec<&'static str>) {
        for step in steps {
            collect(path, &step.parts, found);
            if step.at.steps() != path || !step.parts.is_empty() {
                continue;
            }
            let is_refused = step
                .error
                .as_ref()
                .is_some_and(|error| error.kind == ErrorKind::Approval);
            found.push(if step.status == StepStatus::Waiting {
                "waiting"
            } else if is_refused {
                "rejected"
            } else if step.attempts > 0 {
                "approved"
            } else {
                "not_made"
            });
        }
    }
    let mut found = Vec::new();
    collect(path, steps, &mut found);
    let order = ["waiting", "rejected", "approved"];
    let first = order.into_iter().find(|decision| found.contains(decision));
    first.unwrap_or("not_made")
}

/// The plan of a run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlanV1 {
    /// The name of the plan.
    pub name: Option<Arc<str>>,
    /// The digest of its meaning; none if it was rejected. In a dry run it is the one that `--approve plan:DIGEST` takes, which
    /// covers inputs and tools as well.
    pub digest: Option<Arc<str>>,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ReportStatus {
    /// Every step that had to run succeeded.
    Succeeded,
    /// A step failed.
    Failed,
    /// The plan is not sound; nothing was called.
    Rejected,
    /// A call waits for a person.
    Waiting,
    /// The run was cancelled.
    Cancelled,
    /// The plan was only checked.
    DryRun,
}

/// A step, an item of its loop, or a round of its repetition.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct StepV1 {
    /// The step's id.
    pub id: Arc<str>,
    /// The instance, if the plan runs for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<Arc<str>>,
    /// The item of a `for_each`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The round of a `repeat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// The tool, as the plan names it.
    pub tool: Option<Arc<str>>,
    /// The status: `succeeded`, `failed`, `skipped` (it had no reason to run), `not_run` (nothing new was started before its turn came),
    /// `cancelled`, `waiting` (for a person), or `unknown` (a call was not answered, and may or may not have happened).
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["succeeded", "failed", "skipped", "not_run", "cancelled", "waiting", "unknown"]))
    )]
    pub status: &'static str,
    /// The arguments.
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub args: Option<Value>,
    /// The output.
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub output: Option<Value>,
    /// Content that is not text, as MCP writes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<serde_json::Value>"))]
    pub content: Vec<Value>,
    /// The number of calls of its tool.
    pub attempts: u32,
    /// The time of its start, in milliseconds from the start of the run.
    pub started_ms: Option<f64>,
    /// The time of its end, in milliseconds from the start of the run.
    pub ended_ms: Option<f64>,
    /// The reason of the failure.
    pub error: Option<ErrorV1>,
    /// True if the plan handles the failure, so it does not fail the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub handled: bool,
    /// The reason why it did not run.
    #[cfg_attr(test, schemars(with = "Option<crate::reference::ReasonShape>"))]
    pub reason: Option<ReasonV1>,
    /// True if a person would be asked first; only in a dry run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// The steps that it waits for; only in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<Arc<str>>>,
    /// Items, rounds, or the steps of an inner plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<StepV1>,
}

/// The reason why a step failed.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorV1 {
    /// The kind of failure. `tool`: the tool returned an error; `timeout`: the call took too long; `unavailable`: the server cannot
    /// be reached, the connection was lost, or the answer cannot be read; `arguments`: the arguments do not fit the tool's schema;
    /// `reference`: a reference led nowhere; `approval`: a person rejected the call; `policy`: the call is forbidden; `budget`: a
    /// budget is used up; `internal`: a defect of Planwright.
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["tool", "timeout", "unavailable", "arguments", "reference", "approval", "policy", "budget", "internal"]))
    )]
    pub kind: &'static str,
    /// The message of the tool or server, or one clause of Planwright.
    pub message: String,
    /// Further data.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub data: Value,
}

/// The reason why a step did not run.
#[derive(Clone, Debug, Serialize)]
pub struct ReasonV1(pub SkipReason);

/// A call.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct CallV1 {
    /// The step's id.
    pub step: Arc<str>,
    /// The instance, if the plan runs for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<Arc<str>>,
    /// The item of a `for_each`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The round of a `repeat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The tool, as the plan names it.
    pub tool: Arc<str>,
    /// The arguments.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub args: Value,
    /// True if the tool answered without an error.
    pub ok: bool,
}

// serde passes the field by reference.
#[expect(clippy::ref_option, reason = "the signature of `serialize_with`")]
fn or_empty<S: Serializer>(run: &Option<RunId>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(run.as_ref().map_or("", RunId::as_str))
}

impl ReportV1 {
    /// Creates the report of a run that was driven.
    pub fn of_run(
        summary: &RunSummary,
        dialect: Option<&str>,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Self {
        let mut diagnostics: Vec<Diagnostic> = diagnostics.into_iter().collect();
        diagnostics.extend(summary.warnings.iter().cloned());
        Self {
            run: Some(summary.run.clone()),
            plan: PlanV1 {
                name: summary.plan.clone(),
                digest: Some(summary.digest.text().clone()),
            },
            status: summary.status.into(),
            duration_ms: milliseconds(summary.duration),
            output: summary.output.clone(),
            steps: summary.steps.iter().map(StepV1::from).collect(),
            calls: summary.calls.iter().map(CallV1::from).collect(),
            vars: summary.vars.clone(),
            state: summary.state.clone(),
            data: summary.data.clone(),
            instances: summary.instances.clone(),
            flow: summary
                .flow
                .as_ref()
                .map(|flow| ReportFlowV1::new(flow, &summary.steps)),
            revert: summary.revert.as_deref().map(ReportRevertV1::from),
            ..Self::without_run(ReportStatus::Succeeded, dialect, diagnostics)
        }
    }

    /// Returns the same report of a run that continued with other plans; `usage` is that of the models.
    #[must_use]
    pub fn revised(mut self, revisions: &[RevisionV1], usage: UsageV1) -> Self {
        self.usage = (usage.requests > 0).then_some(usage);
        self.replanned = revisions
            .iter()
            .any(|revision| revision.kind == "replanned");
        self.revisions = revisions.to_vec();
        self
    }

    /// Creates the report of a plan that was not run.
    pub fn without_run(
        status: ReportStatus,
        dialect: Option<&str>,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Self {
        Self {
            schema: REPORT_SCHEMA,
            run: None,
            plan: PlanV1::default(),
            dialect: dialect.map(str::to_owned),
            status,
            duration_ms: 0.0,
            output: Value::Null,
            steps: Vec::new(),
            calls: Vec::new(),
            vars: Value::empty_object(),
            state: Value::empty_object(),
            data: Value::empty_object(),
            instances: IndexMap::new(),
            replanned: false,
            revisions: Vec::new(),
            usage: None,
            flow: None,
            revert: None,
            diagnostics: diagnostics.into_iter().collect(),
        }
    }
}

impl From<RunStatus> for ReportStatus {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::Succeeded,
            RunStatus::Waiting => Self::Waiting,
            RunStatus::Cancelled => Self::Cancelled,
            RunStatus::Failed => Self::Failed,
        }
    }
}

impl From<&StepSummary> for StepV1 {
    fn from(step: &StepSummary) -> Self {
        Self {
            id: Arc::clone(step.at.step.text()),
            instance: step.at.instance.clone(),
            item: step.at.item,
            round: step.at.round,
            tool: step.tool.clone(),
            status: step.status.as_str(),
            args: step.args.clone(),
            output: step.output.clone(),
            content: step.content.clone(),
            attempts: step.attempts,
            started_ms: step.started.map(milliseconds),
            ended_ms: step.ended.map(milliseconds),
            error: step.error.as_ref().map(ErrorV1::from),
            handled: step.handled,
            reason: step.reason.clone().map(ReasonV1),
            approval: false,
            after: None,
            parts: step.parts.iter().map(StepV1::from).collect(),
        }
    }
}

impl From<&StepPreview> for StepV1 {
    fn from(step: &StepPreview) -> Self {
        Self {
            id: Arc::clone(step.step.text()),
            instance: step.instance.clone(),
            item: None,
            round: None,
            tool: step.tool.clone(),
            status: StepStatus::NotRun.as_str(),
            args: Some(step.args.clone()),
            output: None,
            content: Vec::new(),
            attempts: 0,
            started_ms: None,
            ended_ms: None,
            error: None,
            handled: false,
            reason: None,
            approval: step.approval,
            after: Some(step.after.iter().map(|id| Arc::clone(id.text())).collect()),
            parts: step.parts.iter().map(StepV1::from).collect(),
        }
    }
}

impl From<&CallSummary> for CallV1 {
    fn from(call: &CallSummary) -> Self {
        let Address {
            step,
            instance,
            item,
            round,
            ..
        } = call.at.as_ref();
        Self {
            step: Arc::clone(step.text()),
            instance: instance.clone(),
            item: *item,
            round: *round,
            attempt: call.attempt,
            tool: Arc::clone(&call.tool),
            args: call.args.clone(),
            ok: call.ok,
        }
    }
}

impl From<&ToolError> for ErrorV1 {
    fn from(error: &ToolError) -> Self {
        Self {
            kind: error.kind.as_str(),
            message: error.message.clone(),
            data: error.data.clone(),
        }
    }
}

/// Returns a time in milliseconds, to the microsecond.
pub fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
