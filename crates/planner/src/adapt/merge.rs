//! The plan that comes of what is done and what a model wrote: the done steps as they were, then the new ones.

use std::collections::BTreeSet;

use planwright_core::CheckedPlan;
use serde_json::{Map, Value};

use super::situation::Situation;

/// A plan of steps that stay and of new ones.
pub(super) struct Merged {
    /// The whole plan.
    pub(super) text: String,
    /// For each of its steps where it stands in the reply, if it does.
    own: Vec<Option<usize>>,
}

impl Merged {
    /// The place in the reply that a place in the whole plan is; that of the reply as a whole where it is none of its own.
    pub(super) fn own_place(&self, pointer: &str) -> String {
        let Some(place) = pointer.strip_prefix("/steps/") else {
            return pointer.to_owned();
        };
        let (step, rest) = place.split_once('/').unwrap_or((place, ""));
        let step = step.parse().ok().and_then(|step: usize| self.own.get(step));
        match step {
            Some(Some(own)) if rest.is_empty() => format!("/steps/{own}"),
            Some(Some(own)) => format!("/steps/{own}/{rest}"),
            _ => String::new(),
        }
    }
}

/// The whole plan, of the steps that stay and those of `reply`. A step that the model wrote once more although it stays is left as it
/// was. `reply` must be an object with `steps`.
pub(super) fn merged(situation: &Situation, before: &CheckedPlan, reply: &Value) -> Option<Merged> {
    let new = reply.as_object()?;
    let new_steps = new.get("steps")?.as_array()?;
    let staying = staying(situation, before);
    let old: Value = serde_json::from_str(&situation.plan.to_json()).ok()?;
    let mut plan: Map<String, Value> = old.as_object()?.clone();
    let old_steps = plan.get("steps")?.as_array()?.clone();
    let stays = |step: &&Value| id(step).is_some_and(|id| staying.contains(&id));
    let old = old_steps.iter().filter(stays).map(|step| (None, step));
    let new_steps = new_steps.iter().enumerate();
    let new_steps = new_steps.map(|(index, step)| (Some(index), step));
    let new_steps = new_steps.filter(|(_, step)| !stays(step));
    let (own, steps) = old
        .chain(new_steps)
        .map(|(own, step)| (own, step.clone()))
        .unzip();
    plan.insert("steps".to_owned(), Value::Array(steps));
    for name in ["output", "vars", "slots", "slot_schemas"] {
        if let Some(value) = new.get(name) {
            plan.insert(name.to_owned(), value.clone());
        }
    }
    let text = Value::Object(plan).to_string();
    Some(Merged { text, own })
}

/// The steps that stay: those that are done, and those that they depend on.
fn staying(situation: &Situation, before: &CheckedPlan) -> BTreeSet<String> {
    let done = situation.done_ids();
    let mut staying = BTreeSet::new();
    let mut open: Vec<usize> = Vec::new();
    for (index, step) in before.plan().steps.iter().enumerate() {
        if done.contains(step.id.as_str()) {
            open.push(index);
        }
    }
    while let Some(index) = open.pop() {
        let Some(step) = before.plan().steps.get(index) else {
            continue;
        };
        if staying.insert(step.id.as_str().to_owned())
            && let Some(checked) = before.steps().get(index)
        {
            open.extend(
                checked
                    .dependencies
                    .iter()
                    .map(|dependency| dependency.on as usize),
            );
        }
    }
    staying
}

fn id(step: &Value) -> Option<String> {
    match step.get("id")? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
