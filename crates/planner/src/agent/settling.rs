//! What a round leaves behind: where each call stands, its result, its error.

use std::sync::Arc;

use planwright_core::{Object, Schema, Value};
use planwright_engine::run::StepSummary;
use planwright_engine::{ErrorKind, RunSummary, StepStatus};

use super::done::Done;
use super::judge::{Sound, path};
use super::state::{AgentState, CallRecord, CallStatus};
use super::telling::shortened;
use super::world::Word;

/// Where results of calls without `_outputPath` go, in the data.
const RESULTS: &str = "results";

/// How long a result may be in a plan message, in letters, where it has no other place.
const LETTERS: usize = 1000;

/// Takes over what a run came to.
pub(super) fn settle(state: &mut AgentState, sound: &Sound, summary: Option<&RunSummary>) {
    if let Some(summary) = summary {
        state.world.absorb(summary);
    }
    let mut records = Vec::new();
    let mut errors = Vec::new();
    for (call, step) in sound.solution.calls.iter().zip(&sound.steps) {
        let Some((id, effect)) = step else {
            let mut record = CallRecord::new(call.clone(), CallStatus::Done);
            record.result = earlier(state, call);
            records.push(record);
            continue;
        };
        let summaries: Vec<&StepSummary> = summary
            .into_iter()
            .flat_map(|summary| &summary.steps)
            .filter(|step| step.at.step == *id)
            .collect();
        let mut record = CallRecord::new(call.clone(), status(&summaries));
        errors.extend(summaries.iter().filter_map(|step| failure(call, step)));
        if let Some(what) = effect {
            let done = summaries.iter().filter_map(|step| done(what, call, step));
            state.done.extend(done);
        }
        if path(call).is_none() {
            record.result = kept(state, call, id.as_str(), &summaries);
        }
        records.push(record);
    }
    state.plan = records;
    state.errors = errors;
}

/// What the model is told of a person who said no.
pub(super) fn refusal(because: &str) -> Value {
    error("refused", because)
}

/// An error that is about no single call.
pub(super) fn error(code: &str, message: &str) -> Value {
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

/// An error that is about a call.
pub(super) fn error_of(call: &Value, error: Value) -> Value {
    Value::object([
        ("type", Value::from("error")),
        ("call", call.clone()),
        ("error", error),
    ])
}

/// What the plan message said of the result of the same call.
fn earlier(state: &AgentState, call: &Value) -> Option<Value> {
    let same = state.plan.iter().find(|record| record.call == *call);
    same.and_then(|record| record.result.clone())
}

/// Where a call stands that ran once, or once in each instance.
fn status(steps: &[&StepSummary]) -> CallStatus {
    let statuses: Vec<CallStatus> = steps.iter().map(|step| status_of(step)).collect();
    let ranked = [
        CallStatus::Unknown,
        CallStatus::Waiting,
        CallStatus::Cancelled,
        CallStatus::Refused,
        CallStatus::Failed,
        CallStatus::Done,
    ];
    let found = ranked.into_iter().find(|status| statuses.contains(status));
    found.unwrap_or(CallStatus::Blocked)
}

fn status_of(step: &StepSummary) -> CallStatus {
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
        _ => CallStatus::Blocked,
    }
}

/// The message about a failure that the plan does not handle.
fn failure(call: &Value, step: &StepSummary) -> Option<Value> {
    let error = step.error.as_ref().filter(|_| !step.handled)?;
    let mut call = call.as_object().cloned().unwrap_or_default();
    if let Some(instance) = &step.at.instance {
        call.insert("_instance".into(), Value::Text(Arc::clone(instance)));
    }
    Some(error_of(&call.into(), error.as_value()))
}

fn done(what: &Arc<str>, call: &Value, step: &StepSummary) -> Option<Done> {
    if step.status != StepStatus::Succeeded {
        return None;
    }
    Some(Done {
        what: Arc::clone(what),
        instance: step.at.instance.clone(),
        args: step.args.clone().unwrap_or_else(Value::empty_object),
        result: step.output.clone().unwrap_or_default(),
        path: path(call),
    })
}

/// Keeps the result of a call without `_outputPath` where calls of later rounds can read it, and says where.
fn kept(state: &mut AgentState, call: &Value, id: &str, steps: &[&StepSummary]) -> Option<Value> {
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
        several => {
            let named = several
                .iter()
                .filter_map(|(instance, result)| Some((instance.clone()?, result.clone())));
            named.collect::<Object>().into()
        }
    };
    let data = state.world.seen(None, Word::Data);
    let mut fields = data.as_object().cloned().unwrap_or_default();
    let is_ours = |value: &Value| value.as_object().is_some();
    let mut all = match fields.get(RESULTS) {
        None => Object::default(),
        Some(value) if is_ours(value) => value.as_object().cloned().unwrap_or_default(),
        Some(_) => return Some(shortened(&result, LETTERS)),
    };
    let name = name(&all, earlier(state, call).as_ref(), id);
    all.insert(name.as_str().into(), result.clone());
    fields.insert(RESULTS.into(), all.into());
    let data = Value::from(fields);
    if let Some(schema) = state.world.schema(Word::Data)
        && !Schema::from_value(schema.clone()).is_valid(&data)
    {
        return Some(shortened(&result, LETTERS));
    }
    state.world.shared.data = Some(data);
    Some(Value::from(reference(&name)))
}

fn reference(name: &str) -> String {
    format!("†data.{RESULTS}.{name}")
}

/// The name of a result: the one that the same call had in the round before, else one that is free.
fn name(taken: &Object, before: Option<&Value>, id: &str) -> String {
    if let Some(before) = before.and_then(Value::as_text)
        && let Some(name) = before.strip_prefix(&reference(""))
        && taken.contains_key(name)
    {
        return name.to_owned();
    }
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
