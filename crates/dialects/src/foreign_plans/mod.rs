//! Plans of other systems as values: state machines, jobs of CI, workflows of Kubernetes, requests and conversations.
//!
//! A translation is only advice. It has the steps of the plan with fields that the native dialect knows or guesses.

mod arazzo;
mod editors;
mod general;
mod jobs;
mod kestra;
mod messages;
mod playbook;
mod rules;
mod sentences;
mod stages;
mod state_machine;
mod texts;
mod workflows;

use planwright_core::Value;

pub(crate) use self::texts::escaped;

/// A plan of another system, translated into the native dialect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Translation {
    /// The kind of the text, for messages: `a conversation`.
    pub(crate) form: &'static str,
    /// The plan; its fields may still be guesses.
    pub(crate) plan: Value,
    /// True if the plan has all that the text says. Otherwise it has all calls without the parts in `left_out`, or the first step
    /// only if there are none.
    pub(crate) is_complete: bool,
    /// The parts of the text that have no counterpart in the plan.
    pub(crate) left_out: Vec<String>,
}

/// The maximum number of ids in the `after` of all steps together. Each step of a group waits for all steps of the previous
/// group.
const MAX_WAITS: usize = 10_000;

impl Translation {
    fn complete(form: &'static str, steps: Vec<Value>) -> Option<Self> {
        let waits = steps.iter().filter_map(|step| step.get("after")?.as_list());
        if waits.map(<[Value]>::len).sum::<usize>() > MAX_WAITS {
            return Some(Self::of_first_step(form, steps.into_iter().next()?));
        }
        (!steps.is_empty()).then(|| Self {
            form,
            plan: Value::object([("steps", Value::list(steps))]),
            is_complete: true,
            left_out: Vec::new(),
        })
    }

    /// All calls of a text, without the parts `left_out`, which change its effect.
    fn of_calls(form: &'static str, steps: Vec<Value>, left_out: Vec<String>) -> Option<Self> {
        let found = Self::complete(form, steps)?;
        Some(Self {
            is_complete: false,
            left_out,
            ..found
        })
    }

    fn of_first_step(form: &'static str, step: Value) -> Self {
        Self {
            form,
            plan: Value::object([("steps", Value::list([step]))]),
            is_complete: false,
            left_out: Vec::new(),
        }
    }
}

/// The translation of `value`; `None` if it is not a plan of a known system.
pub(crate) fn translated(value: &Value) -> Option<Translation> {
    state_machine::translation(value)
        .or_else(|| state_machine::plain::translation(value))
        .or_else(|| editors::translation(value))
        .or_else(|| arazzo::translation(value))
        .or_else(|| kestra::translation(value))
        .or_else(|| jobs::translation(value))
        .or_else(|| workflows::translation(value))
        .or_else(|| stages::translation(value))
        .or_else(|| {
            stages::translation(
                value
                    .get("workflow")
                    .filter(|_| has_only(value, &["workflow"]))?,
            )
        })
        .or_else(|| playbook::translation(value))
        .or_else(|| messages::requests(value))
        .or_else(|| messages::conversation(value))
        .or_else(|| sentences::translation(value))
}

/// The translation of the calls in `value`, a plan of an unknown system; `None` if it has no calls.
pub(crate) fn translated_in_general(value: &Value) -> Option<Translation> {
    general::translation(value)
}

/// The fields of a step that are not absent.
fn step(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let fields = fields.into_iter();
    Value::object(fields.filter_map(|(name, value)| Some((name, value?))))
}

/// Returns true if `value` is an object whose fields are all in `known`, the list of those that have a meaning.
fn has_only(value: &Value, known: &[&str]) -> bool {
    let fields = value.as_object();
    fields.is_some_and(|fields| fields.keys().all(|key| known.contains(&&**key)))
}

/// The fields of the object `value` that are not in `known`.
fn others(value: &Value, known: &[&str]) -> impl Iterator<Item = String> {
    let fields = value.as_object().into_iter().flatten();
    let others = fields.filter(|(key, _)| !known.contains(&&***key));
    others.map(|(key, _)| key.to_string())
}

/// The `after` of several steps that wait for the same `ids`; `None` if there are none.
fn waits(ids: Vec<Value>) -> Option<Value> {
    (!ids.is_empty()).then(|| Value::list(ids))
}

/// The objects of the list `value`; `None` if it is none or has other items.
fn objects(value: &Value) -> Option<&[Value]> {
    let items = value.as_list()?;
    let is_object = |item: &Value| item.as_object().is_some();
    (!items.is_empty() && items.iter().all(is_object)).then_some(items)
}

#[cfg(test)]
mod tests;
