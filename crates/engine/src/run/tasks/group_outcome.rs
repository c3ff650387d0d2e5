//! Outcomes of groups, combined from those of their parts.

use std::sync::Arc;

use planwright_core::plan::Output;
use planwright_core::{Object, Value};

use super::task_data::{Group, TaskData};
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::run::outcome::{Outcome, SkipKind, StepStatus};
use crate::run::state::Run;
use crate::run::values::frame::Frame;
use crate::run::values::memory_budget::MemoryBudget;
use crate::run::values::resolve::{ResolveError, Scope};
use crate::schedule::{Event, TaskId, TaskState};

impl Run {
    /// Computes the outcome of a group whose parts have all settled.
    pub(in crate::run) fn close_group(&mut self, task: TaskId) {
        if self.scheduler.state(task) != TaskState::Group {
            return;
        }
        let outcome = self
            .task_data(task)
            .map(|data| match data.group.as_deref() {
                Some(Group::Items { items, .. }) => self.combine_items(data, items.len()),
                Some(Group::Rounds { number, .. }) => self.combine_rounds(data, *number),
                Some(Group::Plan { frame }) => self.combine_plan(*frame),
                None => Outcome::failed(ToolError::new(ErrorKind::Internal, "a group of nothing")),
            });
        if let Some(data) = self.task_data_mut(task) {
            data.pending_outcome = outcome.map(Box::new);
        }
        self.notify(Event::Closed(task));
    }

    /// Combines the outputs of items, in their order; `null` for items without one.
    fn combine_items(&self, data: &TaskData, count: usize) -> Outcome {
        let mut values = Vec::with_capacity(count);
        let mut failures = Vec::new();
        let mut first = None;
        let mut skipped = None;
        for (index, outcome) in self.outcomes_of_parts(data).enumerate() {
            let output = outcome.and_then(|outcome| outcome.output.as_ref());
            values.push(output.map_or(Value::Null, |output| output.value.clone()));
            match outcome.map(|outcome| (outcome.status, &outcome.error)) {
                Some((StepStatus::Failed, Some(error))) => {
                    failures.push(Value::object([
                        ("index", Value::from(index as u64)),
                        ("kind", Value::from(error.kind.as_str())),
                        ("message", Value::from(error.message.as_str())),
                        ("data", error.data.clone()),
                    ]));
                    first = first.or(Some((index, error)));
                }
                Some((StepStatus::Skipped, _)) => {
                    let reason = outcome.and_then(|outcome| outcome.reason.as_ref());
                    skipped = skipped.or(reason.filter(|reason| reason.because == SkipKind::Step));
                }
                _ => {}
            }
        }
        // Items that never began have no output.
        values.resize(count, Value::Null);
        let output = Arc::new(ToolOutput::value(values.into()));
        let unfinished = unfinished_outcome(self.outcomes_of_parts(data).flatten())
            .or_else(|| (data.parts.len() < count).then(|| self.not_run_outcome()));
        match (first, unfinished) {
            (Some((index, error)), _) => {
                let count = failures.len();
                let mut message = format!("item {index}: {}", error.message);
                if count > 1 {
                    message = format!("{message} (and {} more)", count - 1);
                }
                let mut outcome = Outcome::failed(
                    ToolError::new(error.kind, message)
                        .with_data(Value::object([("items", Value::from(failures))])),
                );
                outcome.output = Some(output);
                outcome
            }
            (None, Some(mut outcome)) => {
                outcome.output = Some(output);
                outcome
            }
            (None, None) => match skipped {
                // What its items need does not exist, so the step did not succeed.
                Some(reason) => Outcome::skipped(reason.clone()),
                None => Outcome::succeeded(output),
            },
        }
    }

    /// The outcomes of the parts that have begun, in order.
    fn outcomes_of_parts<'a>(
        &'a self,
        data: &'a TaskData,
    ) -> impl Iterator<Item = Option<&'a Arc<Outcome>>> {
        let parts = data.parts.iter();
        parts.map(|part| self.task_data(*part).and_then(|part| part.outcome.as_ref()))
    }

    /// The output of the last round, unless the round `number` should have followed.
    fn combine_rounds(&self, data: &TaskData, number: u64) -> Outcome {
        let last = data
            .parts
            .last()
            .and_then(|part| self.task_data(*part)?.outcome.clone());
        match (&data.last_error, last) {
            (Some(error), last) => {
                let mut outcome = Outcome::failed(ToolError::clone(error));
                outcome.output = last.and_then(|last| last.output.clone());
                outcome
            }
            (None, Some(last)) if data.parts.len() as u64 > number => Outcome::clone(&last),
            (None, _) => self.not_run_outcome(),
        }
    }

    /// The output of an inner plan, or its first failure.
    fn combine_plan(&self, frame: usize) -> Outcome {
        let Some(frame) = self.frames.get(frame) else {
            return Outcome::failed(ToolError::new(ErrorKind::Internal, "an unknown plan"));
        };
        let failure = frame
            .failed
            .and_then(|step| frame.outcome(step)?.error.clone());
        if let Some(error) = failure {
            return Outcome::failed(error);
        }
        if let Some(unfinished) = unfinished_outcome(frame.outcomes.iter().flatten()) {
            return unfinished;
        }
        match self.output_of(frame) {
            Ok(value) => Outcome::succeeded(Arc::new(ToolOutput::value(value))),
            Err(error) => Outcome::failed(error),
        }
    }

    /// The output of a plan: the selected steps, or its output value.
    pub(in crate::run) fn output_of(&self, frame: &Frame) -> Result<Value, ToolError> {
        let plan = frame.plan.plan();
        let value_of = |step: u32| {
            let output = frame.outcome(step)?.output.as_ref()?;
            Some(output.value.clone())
        };
        let selected: Object = match &plan.output {
            Output::Value(node) => {
                let warnings = &self.warnings;
                // A summary may be requested often, and its output is not stored, so it must not use up the run's
                // budget.
                let passing = MemoryBudget::new(self.options.computed_bytes);
                let is_stored = frame.owner.is_some();
                let scope = Scope {
                    frame,
                    item: None,
                    index: None,
                    last: None,
                    own_outcome: None,
                    secret_values: &self.options.secret_values,
                    limits: &self.options.evaluation,
                    warnings,
                    memory: if is_stored {
                        &self.budgets.memory
                    } else {
                        &passing
                    },
                };
                return scope.node(node, None).map_err(|unbound| match unbound {
                    ResolveError::Missing(error) | ResolveError::Fail(error) => error,
                    ResolveError::Skip(reason) => ToolError::new(
                        ErrorKind::Reference,
                        format!(
                            "the plan's output needs `{}`, which nothing filled",
                            reason.of
                        ),
                    ),
                    ResolveError::Wait(_) => ToolError::new(
                        ErrorKind::Reference,
                        "the plan's output needs a step that has not run",
                    ),
                });
            }
            Output::Steps(names) => names
                .iter()
                .filter_map(|name| {
                    let step = plan_step(frame, &name.text)?;
                    Some((Arc::clone(&name.text), value_of(step)?))
                })
                .collect(),
            Output::All => plan
                .steps
                .iter()
                .filter_map(|step| {
                    let index = plan_step(frame, step.id.as_str())?;
                    Some((Arc::clone(step.id.text()), value_of(index)?))
                })
                .collect(),
        };
        Ok(selected.into())
    }
}

/// The outcome of a group with unfinished parts: that of the first such part. A part with an unknown outcome has
/// precedence, since a person must hear of it.
fn unfinished_outcome<'a>(parts: impl Iterator<Item = &'a Arc<Outcome>>) -> Option<Outcome> {
    let mut first = None;
    for part in parts {
        match part.status {
            StepStatus::Unknown => return Some(Outcome::without_output(part.status, None)),
            StepStatus::NotRun | StepStatus::Cancelled => first = first.or(Some(part)),
            StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::Skipped
            | StepStatus::Waiting => {}
        }
    }
    first.map(|part| Outcome::without_output(part.status, part.reason.clone()))
}

fn plan_step(frame: &Frame, id: &str) -> Option<u32> {
    frame.plan.step_index(id)
}
