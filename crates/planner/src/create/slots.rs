//! Whether a plan fills the state that it is to fill.

use std::collections::BTreeSet;

use planwright_core::plan::{SlotKind, Targets};
use planwright_core::{Code, Diagnostic, Diagnostics, Plan, Value};

use crate::prompt::slot_names;

/// A finding for each part of the state that no step writes.
pub(super) fn unfilled(plan: &Plan, state: Option<&Value>) -> Diagnostics {
    let Some(state) = state else {
        return Diagnostics::new();
    };
    let written = written(plan);
    // Written as a whole, it has all its parts.
    if written.contains("") {
        return Diagnostics::new();
    }
    let needed = needed(state);
    let missing = needed
        .iter()
        .filter(|name| !written.contains(name.as_str()));
    missing
        .map(|name| {
            let message = format!("no step fills `state.{name}`");
            let advice = format!("write \"writes\": \"state.{name}\" in the step that gives it");
            Diagnostic::error(Code::MissingField, message).help(advice)
        })
        .collect()
}

/// The parts that must be there; all, where the schema does not say.
fn needed(state: &Value) -> Vec<String> {
    match state.get("required").and_then(Value::as_list) {
        Some(names) => names
            .iter()
            .filter_map(Value::as_text)
            .map(str::to_owned)
            .collect(),
        None => slot_names(state),
    }
}

/// The parts of the state that something is written to: by a step, or before the first.
fn written(plan: &Plan) -> BTreeSet<&str> {
    let steps = plan.steps.iter().filter_map(|step| step.writes.as_ref());
    let targets = steps.flat_map(|writes| match &writes.targets {
        Targets::All(slots) | Targets::OneOf(slots) => slots,
    });
    let slots = targets.filter(|slot| slot.kind == SlotKind::State);
    let contents = plan
        .contents
        .iter()
        .filter(|content| content.kind == SlotKind::State);
    let given = contents
        .filter_map(|content| content.value.as_object())
        .flatten();
    slots
        .map(|slot| slot.keys.first().map_or("", |key| &**key))
        .chain(given.map(|(name, _)| &**name))
        .collect()
}
