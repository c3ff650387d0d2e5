//! The plan that comes of what is done and what a model wrote: the done steps as they were, then the new ones.

use std::collections::BTreeSet;

use planwright_core::CheckedPlan;
use serde_json::{Map, Value};

use super::situation::Situation;

/// The whole plan, of the steps that stay and those of `reply`. A step that the model wrote once more although it stays is left as it
/// was. `reply` must be an object with `steps`.
pub(super) fn merged(situation: &Situation, before: &CheckedPlan, reply: &Value) -> Option<String> {
    let new = reply.as_object()?;
    let new_steps = new.get("steps")?.as_array()?;
    let staying = staying(situation, before);
    let old: Value = serde_json::from_str(&situation.plan.to_json()).ok()?;
    let mut plan: Map<String, Value> = old.as_object()?.clone();
    let old_steps = plan.get("steps")?.as_array()?.clone();
    let stays = |step: &&Value| id(step).is_some_and(|id| staying.contains(&id));
    let steps = old_steps
        .iter()
        .filter(stays)
        .chain(new_steps.iter().filter(|step| !stays(step)));
    let steps: Vec<Value> = steps.cloned().collect();
    plan.insert("steps".to_owned(), Value::Array(steps));
    for name in ["output", "vars", "slots", "slot_schemas"] {
        if let Some(value) = new.get(name) {
            plan.insert(name.to_owned(), value.clone());
        }
    }
    Some(Value::Object(plan).to_string())
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
