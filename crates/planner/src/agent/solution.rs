//! Solutions as written by a model.

use planwright_core::{Code, Diagnostic, Object, Value};

use super::memory::WorkingMemory;
use crate::create::extract;
use crate::model::{FinishReason, Reply};

/// Fields that we add to calls in the plan message, and that the dialect does not know.
const ADDED_FIELDS: [&str; 2] = ["_status", "_result"];

/// Field that requests a completed call once more.
const REPEAT_FIELD: &str = "_again";

/// A solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Solution {
    /// The calls, without the fields we added.
    pub(super) calls: Vec<Value>,
    /// For each call, whether to repeat it if it is completed.
    pub(super) repeat: Vec<bool>,
    pub(super) output: Value,
}

impl Solution {
    /// Extracts the solution from a reply of at most `max_bytes` bytes.
    pub(super) fn read(reply: &Reply, max_bytes: usize) -> Result<Self, Box<Diagnostic>> {
        if reply.text.len() > max_bytes {
            let message = format!(
                "the answer has {} bytes, and at most {max_bytes} are allowed",
                reply.text.len()
            );
            let diagnostic = Diagnostic::error(Code::TooLarge, message);
            return Err(Box::new(diagnostic.help("write a smaller solution")));
        }
        // The missing part may have had further calls, so the rest is not used.
        if reply.finish == FinishReason::Length {
            let diagnostic = Diagnostic::error(
                Code::TooLarge,
                "the answer was cut off at its greatest length",
            );
            return Err(Box::new(diagnostic.help("write a smaller solution")));
        }
        let text = extract(&reply.text).ok_or_else(|| rejected("the answer holds no solution"))?;
        let value = Value::from_json(text)
            .map_err(|error| rejected(&format!("the answer is not JSON: {error}")))?;
        Self::parse(&value)
    }

    /// Interprets a value as a solution. Accepts a wrapped solution, a list of calls, and a single call.
    fn parse(value: &Value) -> Result<Self, Box<Diagnostic>> {
        let value = value
            .get("solution")
            .filter(|inner| inner.as_object().is_some())
            .unwrap_or(value);
        let has_output = value.get("output").is_some();
        let calls = match (value.get("calls"), value.as_list()) {
            (Some(calls), _) => calls
                .as_list()
                .ok_or_else(|| rejected("`calls` must be a list"))?,
            (None, Some(calls)) => calls,
            (None, None) if value.get("_tool").is_some() => std::slice::from_ref(value),
            (None, None) if has_output => &[],
            (None, None) => return Err(rejected("the answer has no `calls`")),
        };
        let output = value.get("output").filter(|_| value.as_object().is_some());
        Ok(Self::new(calls, output.cloned().unwrap_or_default()))
    }

    /// Creates a solution of these calls.
    pub(super) fn new(calls: &[Value], output: Value) -> Self {
        let is_repeat =
            |call: &Value| call.get(REPEAT_FIELD).and_then(Value::as_bool) == Some(true);
        Self {
            repeat: calls.iter().map(is_repeat).collect(),
            calls: calls.iter().map(without_added_fields).collect(),
            output,
        }
    }

    /// Returns the solution as a value, for comparison and storage.
    pub(super) fn value(&self) -> Value {
        Value::object([
            ("calls", Value::from(self.calls.clone())),
            ("output", self.output.clone()),
        ])
    }
}

/// Returns a plan in the dialect of the Acts: `calls`, with `memory` as their context.
pub(super) fn plan_text(memory: &WorkingMemory, calls: &[Value], output: &Value) -> String {
    let mut fields = Object::default();
    fields.insert("context".into(), Value::from(memory.messages()));
    fields.insert("calls".into(), Value::from(calls.to_vec()));
    fields.insert("output".into(), output.clone());
    Value::from(fields).to_json()
}

/// Returns whether a value contains a reference.
pub(super) fn has_reference(value: &Value) -> bool {
    match value {
        Value::Text(text) => {
            // A doubled `†` is an escaped one.
            text.trim_start().starts_with('†') && !text.trim_start().starts_with("††")
        }
        Value::List(items) => items.iter().any(has_reference),
        Value::Object(fields) => fields.values().any(has_reference),
        _ => false,
    }
}

/// Escapes a value so that the dialect reads it literally.
pub(super) fn escape(value: &Value) -> Value {
    replace(value, "†", "††")
}

/// Unescapes a value without references.
pub(super) fn unescape(value: &Value) -> Value {
    replace(value, "††", "†")
}

fn replace(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::Text(text) if text.contains(from) => Value::from(text.replace(from, to)),
        Value::List(items) => Value::list(items.iter().map(|item| replace(item, from, to))),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), replace(value, from, to)));
            Value::from(fields.collect::<Object>())
        }
        other => other.clone(),
    }
}

fn without_added_fields(call: &Value) -> Value {
    let Some(fields) = call.as_object() else {
        return call.clone();
    };
    let is_own = |name: &str| !ADDED_FIELDS.contains(&name) && name != REPEAT_FIELD;
    let fields = fields.iter().filter(|(name, _)| is_own(name));
    let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
    Value::from(fields.collect::<Object>())
}

fn rejected(message: &str) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::error(Code::NotJson, message);
    Box::new(diagnostic.help("answer with one JSON object, {\"calls\": [...], \"output\": ...}"))
}
