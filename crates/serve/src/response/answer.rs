//! Responses in the gateway's own format.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use planwright::format::{ReportStatus, timestamp};
use planwright::loaded_plan::recalled;
use planwright::stored::StaleStep;
use planwright_core::check::CheckedPlan;
use planwright_core::diagnostic::FLOW_REFUSAL;
use planwright_core::flow::FlowReport;
use planwright_core::plan::Output;
use planwright_core::{Diagnostic, Diagnostics, Object, StepId, Value};
use planwright_engine::RunId;
use planwright_engine::backend::ToolOutput;
use planwright_engine::run::{RevertSummary, StepStatus, StepSummary};
use planwright_engine::{RunStatus, RunSummary};

use crate::response::budget::ResponseBudget;
use crate::response::content::{Attachments, output_address, step_address};

/// The note about a plan without `output` whose results are too large to be shown whole.
const SELECTS_NONE: &str = "the plan has no `output`, so large results are only named: read their resources, or select what you need with `output`, also in a later plan as `${runs.RUN.STEP.path}`";

/// Builds a response of structured content and the same as text.
pub(crate) fn structured(structured: Object, is_error: bool) -> Value {
    let structured = Value::from(structured);
    let text = structured.to_json();
    result(vec![text_block(text)], Some(structured), is_error)
}

/// Builds a response in the format of another system, as text with the blocks `attached`. `whole` is the run to link to if its
/// output was abbreviated.
pub(crate) fn in_form_of_profile(
    structured: Value,
    text: String,
    (attached, whole): (Vec<Value>, Option<&RunId>),
    is_error: bool,
) -> Value {
    let mut blocks = vec![text_block(text)];
    blocks.extend(attached);
    blocks.extend(whole.map(output_link));
    result(blocks, Some(structured), is_error)
}

/// Builds the response to a request that cannot be met.
pub(crate) fn refusal_response(message: &str) -> Value {
    let structured = Value::object([
        ("status", Value::from("rejected")),
        ("message", Value::from(message)),
    ]);
    result(vec![text_block(message.to_owned())], Some(structured), true)
}

/// Builds a response whose text differs from its structured content.
pub(crate) fn text_only(text: String, structured: Value) -> Value {
    result(vec![text_block(text)], Some(structured), false)
}

/// Returns the output of a built-in tool in the form of a server's answer.
pub(crate) fn tool_result(output: ToolOutput) -> Value {
    let is_content = output.value == Value::from(output.content.clone());
    let text = output.text.as_deref().map(str::to_owned);
    let text = text.unwrap_or_else(|| output.value.to_inserted_text());
    let mut blocks = Vec::new();
    if output.content.is_empty() || !is_content {
        blocks.push(text_block(text));
    }
    blocks.extend(output.content);
    let structured = (!is_content).then(|| Value::object([("result", output.value)]));
    result(blocks, structured, false)
}

/// The interval at which a client should poll a task, in milliseconds.
const POLL_INTERVAL_MS: u64 = 500;

/// Returns the task handle for a client whose result takes long.
pub(crate) fn task_handle(id: &RunId, began: SystemTime) -> Value {
    let mut fields = state(id, "working", began);
    fields.insert("resultType".into(), Value::from("task"));
    Value::from(fields)
}

/// Returns a task with the data of its status.
pub(crate) fn task<'a>(
    id: &RunId,
    status: &'a str,
    time: SystemTime,
    more: impl IntoIterator<Item = (&'a str, Value)>,
) -> Value {
    let mut fields = state(id, status, time);
    for (name, value) in more {
        fields.insert(name.into(), value);
    }
    Value::from(fields)
}

fn state(id: &RunId, status: &str, time: SystemTime) -> Object {
    let time = timestamp(time);
    let fields = [
        ("taskId", Value::from(id.as_str())),
        ("status", Value::from(status)),
        ("createdAt", Value::from(time.as_str())),
        ("lastUpdatedAt", Value::from(time.as_str())),
        ("ttlMs", Value::Null),
        ("pollIntervalMs", Value::from(POLL_INTERVAL_MS)),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (Arc::from(name), value))
        .collect()
}

/// Builds the response for an invalid plan: each error with its position and its fix.
pub(crate) fn rejection_response(diagnostics: &Diagnostics) -> Value {
    let (shown, is_refused) = diagnostics.for_model();
    let mut findings: Vec<Value> = shown
        .filter(|diagnostic| explains_rejection(diagnostic))
        .map(diagnostic_value)
        .collect();
    if is_refused {
        findings.push(Value::object([("message", Value::from(FLOW_REFUSAL))]));
    }
    let structured = Value::object([
        ("status", Value::from("rejected")),
        ("findings", findings.into()),
    ]);
    result(
        vec![text_block(rejection(diagnostics))],
        Some(structured),
        true,
    )
}

/// Returns true for errors, and for the notes that say how the plan was read.
fn explains_rejection(diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() || diagnostic.is_note()
}

/// Returns the errors of a rejected plan and the notes about its reading, as text.
pub(crate) fn rejection(diagnostics: &Diagnostics) -> String {
    let (shown, is_refused) = diagnostics.for_model();
    let mut text = "the plan was rejected; nothing was called".to_owned();
    for diagnostic in shown.filter(|diagnostic| explains_rejection(diagnostic)) {
        let _ = write!(text, "\n{}", diagnostic_line(diagnostic));
    }
    if is_refused {
        let _ = write!(text, "\n{FLOW_REFUSAL}");
    }
    text
}

/// Maximum number of warnings in the answer about a run.
const MAX_WARNINGS: usize = 8;

/// The warnings about a plan that runs, as a model reads them. Notes are left out: they say how a plan was read, and the result shows that.
pub(crate) fn warnings(diagnostics: &Diagnostics) -> Vec<Value> {
    let (shown, _) = diagnostics.for_model();
    shown
        .filter(|found| !found.is_error() && !found.is_note())
        .take(MAX_WARNINGS)
        .map(diagnostic_value)
        .collect()
}

/// Renders a diagnostic in one line.
pub(crate) fn diagnostic_line(finding: &Diagnostic) -> String {
    let mut line = format!(
        "{} at {}: {}",
        finding.code.as_str(),
        pointer(finding),
        finding.message
    );
    if let Some(help) = &finding.help {
        let _ = write!(line, " ({help})");
    }
    line
}

/// Renders a diagnostic as data.
pub(crate) fn diagnostic_value(finding: &Diagnostic) -> Value {
    let mut fields = vec![
        ("code", Value::from(finding.code.as_str())),
        ("at", Value::from(pointer(finding))),
        ("message", Value::from(finding.message.as_str())),
    ];
    if let Some(help) = &finding.help {
        fields.push(("help", Value::from(help.as_str())));
    }
    Value::object(fields)
}

fn pointer(finding: &Diagnostic) -> &str {
    match finding.pointer.as_str() {
        "" => "/",
        pointer => pointer,
    }
}

/// Returns the result of a run: the output of the plan and, if the run did not succeed, the reason and the way to continue. Values
/// above `limit` bytes, and results above a few times that, are linked as resources. Content that is not text is attached as
/// blocks.
///
/// `rerun` names the steps whose results a new plan made stale; `warnings` are those about the plan. `page` is the address of the page where a person decides.
pub(crate) fn run(
    summary: &RunSummary,
    plan: Option<&CheckedPlan>,
    rerun: &[StaleStep],
    warnings: &[Value],
    limit: u64,
    can_resume: bool,
    page: Option<&str>,
) -> Value {
    let mut fields = Object::default();
    fields.insert("status".into(), Value::from(summary.status.as_str()));
    fields.insert("run".into(), Value::Text(summary.run.clone().into()));
    if !warnings.is_empty() {
        fields.insert("findings".into(), Value::list(warnings.iter().cloned()));
    }
    if !rerun.is_empty() {
        let rerun = rerun.iter().map(|stale| {
            Value::object([
                ("step", Value::from(stale.step.as_str())),
                ("because", Value::from(stale_reason(stale))),
            ])
        });
        fields.insert("rerun".into(), rerun.collect::<Vec<_>>().into());
    }
    let mut attached = Attachments::of(summary, plan);
    let mut bounds = ResponseBudget::new(limit);
    let output = attached.detach(&summary.output);
    let selects_none = plan.is_some_and(|plan| matches!(plan.plan().output, Output::All));
    let output = if selects_none {
        bounds.all(&output, |step| step_address(&summary.run, step))
    } else {
        bounds.fields(&output)
    };
    fields.insert("output".into(), output);
    if selects_none && bounds.is_trimmed {
        fields.insert("note".into(), Value::from(SELECTS_NONE));
    }
    let (attached, listed) = attached.finish();
    if !listed.is_empty() {
        fields.insert("content".into(), bounds.list(listed));
    }
    let flow = summary.flow.as_ref().or(plan.and_then(CheckedPlan::flow));
    let mut outcome = StepsByStatus {
        recalled: plan.and_then(recalled),
        hidden: flow.map(FlowReport::asking_steps).unwrap_or_default(),
        ..StepsByStatus::default()
    };
    outcome.collect(&summary.steps);
    // The steps may go well, and the output cannot be computed from them.
    let of_output = summary.warnings.iter().filter(|found| found.is_error());
    outcome.errors.extend(of_output.map(|found| {
        Value::object([
            ("step", Value::Null),
            ("kind", Value::from("output")),
            ("message", Value::from(found.message.as_str())),
        ])
    }));
    let is_success = summary.status == RunStatus::Succeeded;
    if !is_success {
        let done = outcome.done.into_iter().map(Value::Text);
        fields.insert("done".into(), bounds.list(done.collect()));
    }
    let lists = [
        ("errors", outcome.errors),
        ("skipped", outcome.skipped),
        ("waiting", outcome.waiting),
        ("unknown", outcome.unknown),
    ];
    for (name, list) in lists {
        // If the run succeeded, skipped steps are as planned.
        if !list.is_empty() && (!is_success || name == "errors") {
            fields.insert(name.into(), bounds.list(list));
        }
    }
    if let Some(error) = &summary.journal_error {
        fields.insert("unkept".into(), Value::from(error.to_string()));
    }
    if let Some(revert) = &summary.revert {
        fields.insert("reverted".into(), reverted(revert));
    }
    // A reverted run cannot be continued, so no next action is suggested.
    if !is_success && can_resume && summary.revert.is_none() {
        let next = next_action(summary, fields.contains_key("unknown"), page);
        fields.insert("next".into(), Value::from(next));
    }
    let is_error = matches!(summary.status, RunStatus::Failed | RunStatus::Cancelled);
    let structured = Value::from(fields);
    let mut blocks = vec![text_block(structured.to_json())];
    blocks.extend(attached);
    if bounds.is_trimmed {
        blocks.push(output_link(&summary.run));
    }
    result(blocks, Some(structured), is_error)
}

/// Returns what became of the revert of a run that failed.
fn reverted(revert: &RevertSummary) -> Value {
    let texts = |texts: &[Arc<str>]| Value::list(texts.iter().cloned().map(Value::Text));
    let run = revert.run.as_ref();
    let status = revert.status.map(ReportStatus::from);
    let status = status.and_then(|status| serde_json::to_value(status).ok());
    let mut fields = vec![
        (
            "run",
            run.map_or(Value::Null, |run| Value::from(run.as_str())),
        ),
        ("status", status.map_or(Value::Null, Value::from)),
    ];
    if let Some(error) = &revert.error {
        fields.push(("error", Value::from(error.as_str())));
    }
    if !revert.unreverted.is_empty() {
        fields.push(("not_undone", texts(&revert.unreverted)));
    }
    if !revert.in_doubt.is_empty() {
        fields.push(("unknown", texts(&revert.in_doubt)));
    }
    Value::object(fields)
}

/// Returns the reason why a completed step is run again.
pub(crate) fn stale_reason(stale: &StaleStep) -> String {
    format!(
        "its result was computed from `{}`, which the new plan changes",
        stale.from
    )
}

/// Returns true if a step failed, but none of its parts did.
fn fails_by_itself(step: &StepSummary) -> bool {
    let went_well = |part: &StepSummary| part.status == StepStatus::Succeeded;
    step.parts.iter().all(went_well)
}

/// Returns how a run can continue.
fn next_action(summary: &RunSummary, is_in_doubt: bool, page: Option<&str>) -> String {
    let run = &summary.run;
    let place = page.map_or_else(
        || "in `planwright waiting`".to_owned(),
        |page| format!("at {page}#/run/{run}/graph"),
    );
    match summary.status {
        RunStatus::Waiting if is_in_doubt => format!(
            "it is unknown whether the calls under `unknown` happened: a person has to look and decide; do not make them again. get_run with {{\"run\": \"{run}\"}} returns the state of the run"
        ),
        RunStatus::Waiting => format!(
            "a person has to decide about the calls under `waiting`, and sees them {place}; do not plan them again. Once that is done, call resume_plan with {{\"run\": \"{run}\"}}"
        ),
        RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled => format!(
            "resume_plan with {{\"run\": \"{run}\"}} tries again what failed and keeps what is done; add \"plan\" to change it"
        ),
    }
}

/// The steps of a run, by how they ended.
#[derive(Debug, Default)]
struct StepsByStatus<'a> {
    /// The step that represents results of earlier runs.
    recalled: Option<&'a StepId>,
    /// The steps that wait since the flow policy asks. Their arguments are for the person who decides.
    hidden: BTreeSet<Arc<str>>,
    done: Vec<Arc<str>>,
    errors: Vec<Value>,
    skipped: Vec<Value>,
    waiting: Vec<Value>,
    unknown: Vec<Value>,
}

impl StepsByStatus<'_> {
    fn collect(&mut self, steps: &[StepSummary]) {
        for step in steps {
            if step.at.inside.is_none() && self.recalled == Some(&step.at.step) {
                continue;
            }
            let name = Value::from(step.at.to_string());
            let is_whole = step.parts.is_empty();
            match step.status {
                StepStatus::Succeeded if step.at.inside.is_none() && step.at.item.is_none() => {
                    self.done.push(step.at.to_string().into());
                }
                // Parts that all went well can still come to more than the run may write.
                StepStatus::Failed if fails_by_itself(step) => {
                    self.errors.push(failure(name, step));
                }
                StepStatus::Skipped | StepStatus::NotRun | StepStatus::Cancelled if is_whole => {
                    let mut fields = vec![("step", name)];
                    if let Some(reason) = &step.reason {
                        fields.push(("because", Value::from(reason.to_string())));
                    }
                    self.skipped.push(Value::object(fields));
                }
                StepStatus::Waiting if is_whole => {
                    let is_hidden = self.hidden.contains(&*step.at.steps());
                    self.waiting.push(waiting_call(name, step, is_hidden));
                }
                StepStatus::Unknown if is_whole => {
                    self.unknown.push(waiting_call(name, step, false));
                }
                StepStatus::Succeeded
                | StepStatus::Failed
                | StepStatus::Skipped
                | StepStatus::NotRun
                | StepStatus::Cancelled
                | StepStatus::Waiting
                | StepStatus::Unknown => {}
            }
            if step.status != StepStatus::Succeeded {
                self.collect(&step.parts);
            }
        }
    }
}

fn failure(name: Value, step: &StepSummary) -> Value {
    let mut fields = vec![("step", name)];
    if let Some(tool) = &step.tool {
        fields.push(("tool", Value::Text(Arc::clone(tool))));
    }
    if let Some(error) = &step.error {
        fields.push(("kind", Value::from(error.kind.as_str())));
        fields.push(("message", Value::from(error.message.as_str())));
    }
    if step.handled {
        fields.push(("handled", Value::from(true)));
    }
    Value::object(fields)
}

fn waiting_call(name: Value, step: &StepSummary, is_hidden: bool) -> Value {
    let tool = step.tool.clone().map(Value::Text);
    let args = step.args.clone().filter(|_| !is_hidden);
    let fields = [("step", Some(name)), ("tool", tool), ("args", args)];
    let there = fields.into_iter();
    Value::object(there.filter_map(|(field, value)| Some((field, value?))))
}

fn output_link(run: &RunId) -> Value {
    Value::object([
        ("type", Value::from("resource_link")),
        ("uri", Value::from(output_address(run))),
        ("name", Value::from("output")),
        ("description", Value::from("the whole output of the run")),
        ("mimeType", Value::from("application/json")),
    ])
}

fn text_block(text: String) -> Value {
    Value::object([("type", Value::from("text")), ("text", Value::from(text))])
}

fn result(content: Vec<Value>, structured: Option<Value>, is_error: bool) -> Value {
    let mut fields = vec![("content", Value::from(content))];
    if let Some(structured) = structured {
        fields.push(("structuredContent", structured));
    }
    fields.push(("isError", Value::from(is_error)));
    Value::object(fields)
}
