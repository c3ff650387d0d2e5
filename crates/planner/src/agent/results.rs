//! The results of a round, applied to the state of the loop.

use std::sync::Arc;

use planwright_core::{Object, Schema, Value};
use planwright_engine::run::StepSummary;
use planwright_engine::{ErrorKind, RunSummary, StepStatus, ToolError};

use super::completed_calls::CompletedAgentCall;
use super::memory::MemoryKind;
use super::messages::{call_error_message, shorten};
use super::solution::{ValidSolution, output_path};
use super::state::{AgentState, CallStatus, SolutionCall};

/// Field of the data that stores results of calls without `_outputPath`.
const RESULTS_FIELD: &str = "results";

/// Maximum length in characters of a result in the plan message, if it is stored nowhere else.
const MAX_RESULT_CHARS: usize = 1000;

/// Applies the results of a run to the state.
pub(super) fn apply_results(
    state: &mut AgentState,
    valid: &ValidSolution,
    summary: Option<&RunSummary>,
) {
    let mut schema_violations = Vec::new();
    if let Some(summary) = summary {
        let before = state.memory.clone();
        state.memory.apply(summary);
        schema_violations = state.memory.remove_invalid_values(&before);
    }
    let mut records = Vec::new();
    let mut errors = Vec::new();
    for (call, step) in valid.solution.calls.iter().zip(&valid.steps) {
        let Some((id, callee)) = step else {
            // The call did not run again, so its earlier result stays.
            let mut record = SolutionCall::new(call.clone(), CallStatus::Done);
            record.result = previous_result(state, call);
            records.push(record);
            continue;
        };
        let summaries: Vec<&StepSummary> = summary
            .into_iter()
            .flat_map(|summary| &summary.steps)
            .filter(|step| step.at.step == *id)
            .collect();
        // One call stands for all instances, so it has the status that needs attention.
        let mut record = SolutionCall::new(call.clone(), worst_status(&summaries));
        errors.extend(
            summaries
                .iter()
                .filter_map(|step| failure_message(call, step)),
        );
        // Calls without side effects are not recorded, since they may be repeated.
        if let Some(callee) = callee {
            let completed = summaries
                .iter()
                .filter_map(|step| completed_call(callee, call, step));
            state.completed.extend(completed);
        }
        for (slot, problem) in &schema_violations {
            if writes_to(call, slot) {
                record.status = Some(CallStatus::Failed);
                let message =
                    format!("the result does not match the schema of `{slot}`: {problem}");
                let error = Value::object([
                    ("code", Value::from(ToolError::MISFIT)),
                    ("message", Value::from(message)),
                ]);
                errors.push(call_error_message(call, error));
            }
        }
        if output_path(call).is_none() {
            record.result = store_result(state, call, id.as_str(), &summaries);
        }
        records.push(record);
    }
    state.plan = records;
    state.errors = errors;
}

/// Returns true if `_outputPath` of a call names `slot`, or a place in it.
fn writes_to(call: &Value, slot: &str) -> bool {
    let path = call.get("_outputPath").and_then(Value::as_text);
    // Only one of the places was written, but the plan message has one status for the call.
    let mut places = path.unwrap_or_default().split("||").map(str::trim);
    places.any(|place| {
        place
            .strip_prefix(slot)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Returns the result that the plan message has for the same call.
fn previous_result(state: &AgentState, call: &Value) -> Option<Value> {
    let same = state.plan.iter().find(|record| record.call == *call);
    same.and_then(|record| record.result.clone())
}

/// Returns the most severe status of a call over all instances.
fn worst_status(steps: &[&StepSummary]) -> CallStatus {
    let statuses: Vec<CallStatus> = steps.iter().map(|step| call_status(step)).collect();
    let by_severity = [
        CallStatus::Unknown,
        CallStatus::Waiting,
        CallStatus::Cancelled,
        CallStatus::Refused,
        CallStatus::Failed,
        CallStatus::Done,
    ];
    let worst = by_severity
        .into_iter()
        .find(|status| statuses.contains(status));
    // A call without a step in the summary was never started.
    worst.unwrap_or(CallStatus::Blocked)
}

fn call_status(step: &StepSummary) -> CallStatus {
    let is_refused = step
        .error
        .as_ref()
        .is_some_and(|error| error.kind == ErrorKind::Approval);
    match step.status {
        StepStatus::Succeeded => CallStatus::Done,
        StepStatus::Failed if is_refused => CallStatus::Refused,
        StepStatus::Failed => CallStatus::Failed,
        StepStatus::Waiting => CallStatus::Waiting,
        StepStatus::Unknown => CallStatus::Unknown,
        StepStatus::Cancelled => CallStatus::Cancelled,
        StepStatus::Skipped | StepStatus::NotRun => CallStatus::Blocked,
    }
}

/// Returns the error message of a step, unless the plan handles the error.
fn failure_message(call: &Value, step: &StepSummary) -> Option<Value> {
    let error = step.error.as_ref().filter(|_| !step.handled)?;
    let mut call = call.as_object().cloned().unwrap_or_default();
    if let Some(instance) = &step.at.instance {
        call.insert("_instance".into(), Value::Text(Arc::clone(instance)));
    }
    Some(call_error_message(&call.into(), error.as_value()))
}

fn completed_call(
    callee: &Arc<str>,
    call: &Value,
    step: &StepSummary,
) -> Option<CompletedAgentCall> {
    let result = match (step.status, &step.error) {
        (StepStatus::Succeeded, _) => step.output.clone(),
        // The call has happened, and must not be made again.
        (_, Some(error)) => Some(error.misfit()?.clone()),
        (_, None) => return None,
    };
    Some(CompletedAgentCall {
        callee: Arc::clone(callee),
        instance: step.at.instance.clone(),
        args: step.args.clone().unwrap_or_else(Value::empty_object),
        result: result.unwrap_or_default(),
        path: output_path(call),
    })
}

/// Stores the result of a call without `_outputPath` for calls of later rounds, and returns a reference to it.
fn store_result(
    state: &mut AgentState,
    call: &Value,
    id: &str,
    steps: &[&StepSummary],
) -> Option<Value> {
    let results = steps.iter().filter_map(|step| {
        let output = step
            .output
            .clone()
            .filter(|_| step.status == StepStatus::Succeeded)?;
        Some((step.at.instance.clone(), output))
    });
    let results: Vec<(Option<Arc<str>>, Value)> = results.collect();
    let result = match results.as_slice() {
        [] => return None,
        [(None, result)] => result.clone(),
        // Each instance has a result of its own.
        several => {
            let named = several
                .iter()
                .filter_map(|(instance, result)| Some((instance.clone()?, result.clone())));
            named.collect::<Object>().into()
        }
    };
    if let [(None, _)] = results.as_slice()
        && let Some(place) = store_in_state(state, call, &result)
    {
        return Some(Value::from(place));
    }
    let data = state.memory.view(None, MemoryKind::Data);
    let mut fields = data.as_object().cloned().unwrap_or_default();
    let mut all = match fields.get(RESULTS_FIELD) {
        None => Object::default(),
        Some(Value::Object(results)) => results.as_ref().clone(),
        // A field of this name that is not an object was written by a call, so the result goes into the plan message.
        Some(_) => return Some(shorten(&result, MAX_RESULT_CHARS)),
    };
    let name = result_name(&all, previous_result(state, call).as_ref(), id);
    all.insert(name.as_str().into(), result.clone());
    fields.insert(RESULTS_FIELD.into(), all.into());
    let data = Value::from(fields);
    // The schema of the data may not allow for results.
    if let Some(schema) = state.memory.schema(MemoryKind::Data)
        && !Schema::from_value(schema.clone()).is_valid(&data)
    {
        return Some(shorten(&result, MAX_RESULT_CHARS));
    }
    state.memory.shared.data = Some(data);
    Some(Value::from(result_reference(&name)))
}

/// Verbs at the beginning of tool names; what follows names the result.
const VERBS: &[&str] = &[
    "book",
    "calculate",
    "check",
    "compute",
    "convert",
    "create",
    "fetch",
    "find",
    "generate",
    "get",
    "issue",
    "list",
    "load",
    "query",
    "read",
    "retrieve",
    "search",
];

/// Stores a result in the state under the name of the tool without its verb, as the examples of the Acts do: `checkBillingHistory` gives
/// `†state.billingHistory`. Returns the reference, or `None` if the name has no verb, or the state already has or does not allow the field.
fn store_in_state(state: &mut AgentState, call: &Value, result: &Value) -> Option<String> {
    let name = noun(call.get("_tool")?.as_text()?)?;
    let reference = format!("†state.{name}");
    let before = state.memory.view(None, MemoryKind::State);
    let is_ours =
        || previous_result(state, call).is_some_and(|last| last == Value::from(reference.as_str()));
    // A field that a call or the caller has filled must not be replaced by chance.
    if before.get(&name).is_some() && !is_ours() {
        return None;
    }
    let mut fields = before.as_object().cloned().unwrap_or_default();
    fields.insert(name.as_str().into(), result.clone());
    // Kept to undo the change, if the value does not fit the schema.
    let memory = state.memory.clone();
    state.memory.shared.state = Some(fields.into());
    let is_unknown = state
        .memory
        .schema(MemoryKind::State)
        .is_some_and(|schema| {
            let schema = Schema::from_value(schema.clone());
            schema.structure().property(&name).is_none()
        });
    if is_unknown || !state.memory.remove_invalid_values(&memory).is_empty() {
        state.memory = memory;
        return None;
    }
    Some(reference)
}

/// Returns the name of a tool without its verb, such as `billingHistory` of `checkBillingHistory` and `orders` of `shop.list_orders`;
/// `None` if it begins with no known verb.
fn noun(tool: &str) -> Option<String> {
    let bare = tool.rsplit(['.', '/']).next().unwrap_or(tool);
    // Servers are separated from tools by `.`, `/` or `__`.
    let bare = bare.rsplit("__").next().unwrap_or(bare);
    let end = bare.find(|letter: char| !letter.is_ascii_lowercase())?;
    let (verb, rest) = bare.split_at(end);
    let rest = rest.trim_start_matches(['_', '-']);
    let first = rest.chars().next().filter(char::is_ascii_alphabetic)?;
    let is_plain = rest
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_plain && VERBS.contains(&verb))
        .then(|| format!("{}{}", first.to_ascii_lowercase(), &rest[1..]))
}

fn result_reference(name: &str) -> String {
    format!("†data.{RESULTS_FIELD}.{name}")
}

/// Returns the name of a result: the one it had in the previous round, or else a free one.
fn result_name(taken: &Object, before: Option<&Value>, id: &str) -> String {
    if let Some(before) = before.and_then(Value::as_text)
        && let Some(name) = before.strip_prefix(&result_reference(""))
        && taken.contains_key(name)
    {
        return name.to_owned();
    }
    // References separate names by dots, so the name must not contain any.
    let plain: String = id
        .chars()
        .map(|letter| {
            if letter.is_alphanumeric() || letter == '-' {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let mut name = plain.clone();
    let mut count = 1;
    while taken.contains_key(name.as_str()) {
        count += 1;
        name = format!("{plain}_{count}");
    }
    name
}
