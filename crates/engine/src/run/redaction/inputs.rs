//! Secret inputs of plans.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Input, SlotKind};
use planwright_core::schema::{part_at, replace_parts};
use planwright_core::{Hashing, Object, Plan, Value};

use super::redactor::{MASK, Redactor};

/// The inputs of a plan in a form that may be stored: its own secret inputs and `others` are redacted.
pub fn shown_inputs(plan: &CheckedPlan, others: &[Arc<str>]) -> Object {
    let secrets = secret_inputs(plan)
        .into_iter()
        .chain(others.iter().cloned());
    let redactor = Redactor::new(secrets);
    let declared = plan.plan().inputs.iter();
    let declared: HashMap<&Arc<str>, &Input, Hashing> =
        declared.map(|input| (&input.name, input)).collect();
    let mut inputs = without_secrets(plan.plan(), plan.inputs());
    // Defaults are part of the plan, so they need not be stored.
    inputs.retain(|name, _| {
        let default = declared.get(name).and_then(|input| input.default.as_ref());
        default.is_none_or(|default| plan.inputs().get(name) != Some(default))
    });
    for value in inputs.values_mut() {
        redactor.value(value);
    }
    inputs
}

/// Returns `inputs` with `[redacted]` in place of the parts that the plan declares secret.
pub fn without_secrets(plan: &Plan, inputs: &Object) -> Object {
    let parts = plan.secret_parts(inputs);
    if parts.is_empty() {
        return inputs.clone();
    }
    let inputs = Value::from(inputs.clone());
    let shown = replace_parts(&inputs, &parts, &Value::from(MASK));
    shown.as_object().cloned().unwrap_or_default()
}

/// The texts and numbers of all secret parts of the inputs, at any depth.
pub(in crate::run) fn secret_inputs(plan: &CheckedPlan) -> Vec<Arc<str>> {
    let mut secrets = Vec::new();
    let contents = plan.plan().contents.iter();
    let contents = contents
        .filter(|content| content.kind == SlotKind::Inputs)
        .filter_map(|content| content.value.as_object());
    for inputs in contents.chain([plan.inputs()]) {
        let whole = Value::from(inputs.clone());
        for path in plan.plan().secret_parts(inputs) {
            if let Some(part) = part_at(&whole, &path) {
                add_secrets(part, &mut secrets);
            }
        }
    }
    secrets
}

fn add_secrets(value: &Value, secrets: &mut Vec<Arc<str>>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => secrets.push(number.to_string().into()),
        Value::Text(text) => secrets.push(text.as_ref().into()),
        Value::List(items) => items.iter().for_each(|item| add_secrets(item, secrets)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(_, field)| add_secrets(field, secrets)),
    }
}
