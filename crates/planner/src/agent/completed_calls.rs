//! The results of earlier calls with side effects, which are reused so that no side effect is repeated; and the results of a round.

use std::sync::Arc;

use planwright_core::path::read_path;
use planwright_core::plan::{
    Action, Alternative, Form, Node, NodeKind, PlanTarget, Read, Reference, Segment, SlotKind,
    Source, Step,
};
use planwright_core::{Catalog, Lookup, Object, Plan, Schema, Value};
use planwright_engine::run::StepSummary;
use planwright_engine::{ErrorKind, RunSummary, StepStatus};
use serde::{Deserialize, Serialize};

use super::memory::{MemoryKind, WorkingMemory, unknown_key};
use super::prompt::shorten;
use super::solution::{ValidSolution, output_path};
use super::state::{AgentState, CallStatus, SolutionCall};

/// A call that has returned its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CompletedAgentCall {
    /// The qualified name of the tool, or the name of the plan. Stored states call it `what`.
    #[serde(rename = "what")]
    pub(super) callee: Arc<str>,
    #[serde(default)]
    pub(super) instance: Option<Arc<str>>,
    args: Value,
    pub(super) result: Value,
    /// Destination of the result, as written in the call.
    #[serde(default)]
    pub(super) path: Option<Value>,
}

/// Returns the callee of a step that may have side effects; `None` for a call that only reads, which may be repeated because its result
/// may have changed.
pub(super) fn callee_with_side_effects(step: &Step, catalog: &Catalog) -> Option<Arc<str>> {
    match &step.action {
        Action::Tool(name) => match catalog.find(&name.text) {
            // Annotations of servers that are not trusted are mere claims.
            Lookup::Found(tool) if tool.annotations.trusted && tool.annotations.read_only => None,
            Lookup::Found(tool) => Some(tool.qualified_name().into()),
            Lookup::Ambiguous(_) | Lookup::Unknown => None,
        },
        // A plan with scopes reads more than its arguments, so equal arguments do not mean an equal call.
        Action::Plan(call) if call.scopes.is_empty() => match &call.target {
            PlanTarget::Named(name) => Some(format!("plan {}", name.text).into()),
            PlanTarget::Inline(_) => None,
        },
        Action::Plan(_) | Action::Value(_) => None,
    }
}

/// Returns for each step of `plan` the earlier results that replace its calls, one for each instance, or `None` if the step must run.
/// A step with `true` in `repeat` must run. `paths` has the `_outputPath` of each step.
///
/// A step counts as completed only if its arguments are known before the run; values that another step will write are not.
pub(super) fn completed_results<'a>(
    plan: &Plan,
    repeat: &[bool],
    paths: &[Option<Value>],
    memory: &WorkingMemory,
    completed: &'a [CompletedAgentCall],
    catalog: &Catalog,
) -> Vec<Option<Vec<&'a CompletedAgentCall>>> {
    let mut results: Vec<Option<Vec<&CompletedAgentCall>>> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let is_repeat = repeat.get(index).copied().unwrap_or(false);
            let callee = callee_with_side_effects(step, catalog).filter(|_| !is_repeat)?;
            earlier_results(&callee, step, memory, completed, &[])
        })
        .collect();
    loop {
        // A step that has to run after all may write what another step reads, so this repeats until nothing changes.
        let writers: Vec<&Step> = plan
            .steps
            .iter()
            .enumerate()
            .filter(|(index, _)| {
                let earlier = results.get(*index).and_then(Option::as_ref);
                let path = paths.get(*index).and_then(Option::as_ref);
                // A result that is already at its destination changes nothing.
                earlier.is_none_or(|calls| calls.iter().any(|call| call.path.as_ref() != path))
            })
            .map(|(_, step)| step)
            .collect();
        let mut is_stable = true;
        for (step, result) in plan.steps.iter().zip(&mut results) {
            if result.is_some() {
                let callee = callee_with_side_effects(step, catalog).unwrap_or_default();
                *result = earlier_results(&callee, step, memory, completed, &writers);
                is_stable &= result.is_some();
            }
        }
        if is_stable {
            return results;
        }
    }
}

/// Returns the earlier results of a step; `None` unless it has one in each instance.
fn earlier_results<'a>(
    callee: &str,
    step: &Step,
    memory: &WorkingMemory,
    completed: &'a [CompletedAgentCall],
    writers: &[&Step],
) -> Option<Vec<&'a CompletedAgentCall>> {
    let instances: Vec<Option<&Arc<str>>> = match &step.instance {
        Some(instance) => vec![Some(instance)],
        None if memory.instances.is_empty() => vec![None],
        None => memory.instances.keys().map(Some).collect(),
    };
    let result_in = |instance: Option<&Arc<str>>| {
        let args = evaluate(
            &step.args,
            &ReadScope {
                memory,
                instance,
                writers,
            },
        )?;
        // The latest one counts, because a call may have been repeated on request.
        let mut latest = completed.iter().rev();
        latest.find(|call| {
            *call.callee == *callee && call.instance.as_ref() == instance && call.args == args
        })
    };
    instances.into_iter().map(result_in).collect()
}

/// The values that are known before a run.
struct ReadScope<'a> {
    memory: &'a WorkingMemory,
    instance: Option<&'a Arc<str>>,
    writers: &'a [&'a Step],
}

/// Evaluates arguments that are known without a run; `None` if they have expressions or results of other steps.
fn evaluate(node: &Node, scope: &ReadScope<'_>) -> Option<Value> {
    match &node.kind {
        NodeKind::Literal(value) => Some(value.clone()),
        NodeKind::Reference(reference) => evaluate_reference(reference, scope),
        NodeKind::List(items) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| evaluate(item, scope)).collect();
            Some(items?.into())
        }
        NodeKind::Object(fields) => {
            let fields = fields
                .iter()
                .map(|field| Some((Arc::clone(&field.key), evaluate(&field.value, scope)?)));
            Some(fields.collect::<Option<Object>>()?.into())
        }
        NodeKind::Text(_) => None,
    }
}

fn evaluate_reference(reference: &Reference, scope: &ReadScope<'_>) -> Option<Value> {
    if reference
        .reads()
        .iter()
        .any(|read| is_written(read, scope.writers))
    {
        return None;
    }
    match &reference.form {
        Form::First(alternatives) => {
            alternatives
                .iter()
                .find_map(|alternative| match alternative {
                    Alternative::Read(read) => evaluate_read(read, scope),
                    Alternative::Literal(value) => Some(value.clone()),
                    Alternative::Expression(_) => None,
                })
        }
        Form::All(reads) => {
            let all: Option<Vec<Value>> = reads
                .iter()
                .map(|read| evaluate_read(read, scope))
                .collect();
            // `†a && †b` requires both and yields the last one.
            all?.pop()
        }
    }
}

fn evaluate_read(read: &Read, scope: &ReadScope<'_>) -> Option<Value> {
    let Source::Slot(kind) = read.source else {
        return None;
    };
    let view = scope.memory.view(scope.instance, MemoryKind::of(kind)?);
    read_path(&view, &read.path, read.missing).ok()
}

fn is_written(read: &Read, writers: &[&Step]) -> bool {
    let Source::Slot(kind) = read.source else {
        return false;
    };
    let mut targets = writers
        .iter()
        .filter_map(|step| step.writes.as_ref())
        .flat_map(|writes| writes.targets.paths());
    targets.any(|target| {
        target.kind == kind && kind != SlotKind::Inputs && overlaps(&target.keys, &read.path)
    })
}

/// Returns true if a write to `keys` may change what `path` reads: an index may stand for any key.
fn overlaps(keys: &[Arc<str>], path: &[Segment]) -> bool {
    keys.iter().zip(path).all(|(key, segment)| match segment {
        Segment::Key(name) => name == key,
        Segment::Index(_) | Segment::Each => true,
    })
}

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
                    ("code", Value::from("misfit")),
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
    let mut places = path.unwrap_or_default().split("||").map(str::trim);
    places.any(|place| {
        place
            .strip_prefix(slot)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Returns an error message that concerns no single call.
pub(super) fn error_message(code: &str, message: &str) -> Value {
    Value::object([
        ("type", Value::from("error")),
        (
            "error",
            Value::object([
                ("code", Value::from(code)),
                ("message", Value::from(message)),
            ]),
        ),
    ])
}

/// Returns an error message about a call.
pub(super) fn call_error_message(call: &Value, error: Value) -> Value {
    Value::object([
        ("type", Value::from("error")),
        ("call", call.clone()),
        ("error", error),
    ])
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
    if step.status != StepStatus::Succeeded {
        return None;
    }
    Some(CompletedAgentCall {
        callee: Arc::clone(callee),
        instance: step.at.instance.clone(),
        args: step.args.clone().unwrap_or_else(Value::empty_object),
        result: step.output.clone().unwrap_or_default(),
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
        // Each instance has its own result.
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
    if before.get(&name).is_some() && !is_ours() {
        return None;
    }
    let mut fields = before.as_object().cloned().unwrap_or_default();
    fields.insert(name.as_str().into(), result.clone());
    let memory = state.memory.clone();
    state.memory.shared.state = Some(fields.into());
    let schema = state.memory.schema(MemoryKind::State);
    let is_unknown =
        schema.is_some_and(|schema| unknown_key(schema, &[name.as_str().into()]).is_some());
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
