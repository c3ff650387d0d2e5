//! Choices about steps of a stored run: the steps that a person or a model names, and the results that choices set.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::flow::{PlannerLabel, ValueLabels};
use planwright_dialects::document::nearest;
use planwright_engine::StepStatus;
use planwright_engine::event::Address;
use planwright_engine::run::{Choice, History, PastCall};

use super::{StoredRunError, output_violations, tools_of};
use crate::format::{FlowModeV1, RetainedStepV1};

/// Resolves the step of each choice to the [`Display`](std::fmt::Display) form of its address, which is unique. Choices
/// that are in this form stay as they are.
///
/// # Errors
/// A choice names no step of the plan or the history, several steps, a step that has succeeded, or a step that another choice names, or it
/// sets an output that the tool of the step never returns.
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
        if let Choice::Set(value) = &choice
            && let Some(violation) = output_violations(plan, &at, value).into_iter().next()
        {
            return Err(StoredRunError::WrongOutput {
                step: step.to_string(),
                violation,
            });
        }
        let at = Arc::from(at.to_string());
        if resolved.iter().any(|(other, _)| *other == at) {
            return Err(StoredRunError::Twice(step.to_string()));
        }
        resolved.push((at, choice));
    }
    Ok(resolved)
}

/// The steps, items and rounds of a stored run that a person may name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamedSteps {
    known: Vec<Address>,
    /// The sorted addresses of steps with a call whose outcome is unknown. Calls that may be repeated are omitted, because a
    /// resumed run repeats them without a decision.
    pub unknown: Vec<Arc<str>>,
    /// The sorted addresses of steps, items and rounds that began, have neither succeeded nor been skipped, and have no call that succeeded.
    pub unfinished: Vec<Arc<str>>,
}

impl NamedSteps {
    /// Returns true if `text` names a step, an item or a round, or several.
    pub fn contains(&self, text: &str) -> bool {
        !matches!(Address::find(text, &self.known), Ok(None))
    }
}

/// Returns the steps, items and rounds that a person may name.
pub fn named_steps(plan: &CheckedPlan, history: &History) -> NamedSteps {
    let tools = tools_of(plan);
    let is_repeatable = |call: &PastCall| {
        tools.iter().any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    let (mut unknown, mut unfinished) = (Vec::<Arc<str>>::new(), Vec::<Arc<str>>::new());
    for (at, past) in history.steps() {
        let is_settled = past
            .settled
            .as_ref()
            .is_some_and(|end| matches!(end.status, StepStatus::Succeeded | StepStatus::Skipped));
        if is_settled {
            continue;
        }
        let at: Arc<str> = at.to_string().into();
        if past.calls_in_doubt().any(|call| !is_repeatable(call)) {
            unknown.push(Arc::clone(&at));
        }
        // A call that has succeeded counts, also if the process died before it stored the end of its step.
        let has_succeeded = past.calls.iter().any(|call| call.happened() == Some(true));
        if !has_succeeded {
            unfinished.push(at);
        }
    }
    unknown.sort();
    unfinished.sort();
    NamedSteps {
        known: known_steps(plan, history),
        unknown,
        unfinished,
    }
}

fn known_steps(plan: &CheckedPlan, history: &History) -> Vec<Address> {
    let steps = plan.plan().steps.iter();
    let mut known: Vec<Address> = steps
        .map(|step| Address::of_step(step.id.clone()))
        .collect();
    known.extend(history.steps().map(|(at, _)| Address::clone(at)));
    known
}

/// The step, item or round that `text` names.
fn resolve(plan: &CheckedPlan, history: &History, text: &str) -> Result<Address, StoredRunError> {
    let known = known_steps(plan, history);
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

/// Returns the results that `choices` set, with their labels. `chooser` is the label of the planner that sets them, if a flow policy
/// knows it: the values of a clean planner need no label, as its literals.
///
/// # Errors
///
/// A choice names no step of the plan or the history, or several.
pub fn set_results(
    plan: &CheckedPlan,
    history: &History,
    choices: &[(Arc<str>, Choice)],
    chooser: Option<PlannerLabel>,
) -> Result<Vec<RetainedStepV1>, StoredRunError> {
    if chooser == Some(PlannerLabel::Clean) {
        return Ok(Vec::new());
    }
    let set = choices.iter();
    set.filter(|(_, choice)| matches!(choice, Choice::Set(_)))
        .map(|(step, _)| {
            let path: Arc<str> = resolve(plan, history, step)?.steps().into();
            let result = match chooser {
                Some(chooser) => {
                    let labels = ValueLabels::new(true, false);
                    RetainedStepV1::new(path, labels, FlowModeV1::from(chooser))
                }
                None => RetainedStepV1::unknown(path),
            };
            Ok(result.set())
        })
        .collect()
}
