//! The steps that a person or a model names when a run is resumed.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_dialects::document::nearest;
use planwright_engine::StepStatus;
use planwright_engine::event::Address;
use planwright_engine::run::{Choice, History};

use super::StoredRunError;

/// The choices with each step by the [`Display`](std::fmt::Display) form of its address, which no other step, item or round has. Choices
/// that are in this form stay as they are.
///
/// # Errors
///
/// If a choice names no step of the plan or the history or several, a step that has succeeded, or one that another choice names.
pub fn resolve_choices(
    plan: &CheckedPlan,
    history: &History,
    choices: Vec<(Arc<str>, Choice)>,
) -> Result<Vec<(Arc<str>, Choice)>, StoredRunError> {
    let mut resolved: Vec<(Arc<str>, Choice)> = Vec::with_capacity(choices.len());
    for (step, choice) in choices {
        let at = resolve(plan, history, &step)?;
        let end = history.past(&at).and_then(|past| past.settled.as_ref());
        if end.is_some_and(|end| end.status == StepStatus::Succeeded) {
            return Err(StoredRunError::Done(step.to_string()));
        }
        let at = Arc::from(at.to_string());
        if resolved.iter().any(|(other, _)| *other == at) {
            return Err(StoredRunError::Twice(step.to_string()));
        }
        resolved.push((at, choice));
    }
    Ok(resolved)
}

/// The step, item or round that `text` names.
fn resolve(plan: &CheckedPlan, history: &History, text: &str) -> Result<Address, StoredRunError> {
    let steps = plan.plan().steps.iter();
    let mut known: Vec<Address> = steps
        .map(|step| Address::of_step(step.id.clone()))
        .collect();
    known.extend(history.steps().map(|(at, _)| Address::clone(at)));
    match Address::find(text, &known) {
        Ok(Some(at)) => Ok(at.clone()),
        Ok(None) => {
            let names: Vec<String> = known.iter().map(ToString::to_string).collect();
            let near = nearest(text, names.iter().map(String::as_str));
            Err(StoredRunError::UnknownStep {
                step: text.to_owned(),
                near: near.map(str::to_owned),
            })
        }
        Err(similar) => {
            let mut names: Vec<String> = similar.iter().map(ToString::to_string).collect();
            names.sort();
            Err(StoredRunError::AmbiguousStep {
                step: text.to_owned(),
                names,
            })
        }
    }
}
