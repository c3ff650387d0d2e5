//! A solution, as a model writes it.

use planwright_core::{Code, Diagnostic, Object, Value};

use super::world::World;
use crate::create::extract;
use crate::model::{Finish, Reply};

/// What we note down in calls of the plan message, and what no dialect knows.
const NOTES: [&str; 2] = ["_status", "_result"];

/// What says that a call is wanted although it is done.
const AGAIN: &str = "_again";

/// A solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Solution {
    /// The calls without our notes.
    pub(super) calls: Vec<Value>,
    /// By call: whether it is wanted even where it is done.
    pub(super) again: Vec<bool>,
    pub(super) output: Value,
}

impl Solution {
    /// Finds it in an answer of at most `most` bytes.
    pub(super) fn read(reply: &Reply, most: usize) -> Result<Self, Box<Diagnostic>> {
        if reply.text.len() > most {
            let message = format!(
                "the answer has {} bytes, and {most} are looked at",
                reply.text.len()
            );
            let finding = Diagnostic::error(Code::TooLarge, message);
            return Err(Box::new(finding.help("write a smaller solution")));
        }
        if reply.finish == Finish::Length {
            let finding = Diagnostic::error(
                Code::TooLarge,
                "the answer was cut off at its greatest length",
            );
            return Err(Box::new(finding.help("write a smaller solution")));
        }
        let text = extract(&reply.text).ok_or_else(|| none("the answer holds no solution"))?;
        let value = Value::from_json(text)
            .map_err(|error| none(&format!("the answer is not JSON: {error}")))?;
        Self::of(&value)
    }

    /// Takes a value as a solution.
    pub(super) fn of(value: &Value) -> Result<Self, Box<Diagnostic>> {
        let value = value
            .get("solution")
            .filter(|inner| inner.as_object().is_some())
            .unwrap_or(value);
        let has_output = value.get("output").is_some();
        let calls = match (value.get("calls"), value.as_list()) {
            (Some(calls), _) => calls
                .as_list()
                .ok_or_else(|| none("`calls` must be a list"))?,
            (None, Some(calls)) => calls,
            (None, None) if value.get("_tool").is_some() => std::slice::from_ref(value),
            (None, None) if has_output => &[],
            (None, None) => return Err(none("the answer has no `calls`")),
        };
        let output = value.get("output").filter(|_| value.as_object().is_some());
        Ok(Self::new(calls, output.cloned().unwrap_or_default()))
    }

    /// A solution of these calls.
    pub(super) fn new(calls: &[Value], output: Value) -> Self {
        let is_again = |call: &Value| call.get(AGAIN).and_then(Value::as_bool) == Some(true);
        Self {
            again: calls.iter().map(is_again).collect(),
            calls: calls.iter().map(without_notes).collect(),
            output,
        }
    }

    /// It as a value, to be compared and kept.
    pub(super) fn value(&self) -> Value {
        Value::object([
            ("calls", Value::from(self.calls.clone())),
            ("output", self.output.clone()),
        ])
    }
}

/// The text of a plan in the dialect of the Acts: `calls` in the middle of `world`.
pub(super) fn text(world: &World, calls: &[Value], output: &Value) -> String {
    let mut fields = Object::default();
    fields.insert("context".into(), Value::from(world.messages()));
    fields.insert("calls".into(), Value::from(calls.to_vec()));
    fields.insert("output".into(), output.clone());
    Value::from(fields).to_json()
}

/// Whether there is a reference in a value.
pub(super) fn refers(value: &Value) -> bool {
    match value {
        Value::Text(text) => {
            text.trim_start().starts_with('†') && !text.trim_start().starts_with("††")
        }
        Value::List(items) => items.iter().any(refers),
        Value::Object(fields) => fields.values().any(refers),
        _ => false,
    }
}

/// A value as the dialect takes it literally.
pub(super) fn literally(value: &Value) -> Value {
    replaced(value, "†", "††")
}

/// A value without references, as it is meant.
pub(super) fn plainly(value: &Value) -> Value {
    replaced(value, "††", "†")
}

fn replaced(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::Text(text) if text.contains(from) => Value::from(text.replace(from, to)),
        Value::List(items) => Value::list(items.iter().map(|item| replaced(item, from, to))),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), replaced(value, from, to)));
            Value::from(fields.collect::<Object>())
        }
        other => other.clone(),
    }
}

fn without_notes(call: &Value) -> Value {
    let Some(fields) = call.as_object() else {
        return call.clone();
    };
    let kept = fields
        .iter()
        .filter(|(name, _)| !NOTES.contains(&&***name) && &***name != AGAIN);
    Value::from(
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Object>(),
    )
}

fn none(message: &str) -> Box<Diagnostic> {
    let finding = Diagnostic::error(Code::NotJson, message);
    Box::new(finding.help("answer with one JSON object, {\"calls\": [...], \"output\": ...}"))
}
