//! Groups: items of loops, rounds of repetitions, steps of inner plans. Their parts start here, and their outcomes combine
//! those of the parts.

use std::sync::Arc;

use planwright_core::plan::{ForEach, OnFailure, Output};
use planwright_core::{Object, Value};

use crate::address::Address;
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::run::budgets::MemoryBudget;
use crate::run::outcome::{Outcome, SkipKind, StepStatus};
use crate::run::report::cost_model::waves;
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::{Group, Iteration, TaskData, TaskKind};
use crate::run::values::resolve::{ReferenceScope, ResolveError};
use crate::run::values::slots::Frame;
use crate::schedule::{SchedulerEvent, TaskId, TaskState};

/// The next step of a group after one of its parts has settled.
enum NextPart {
    Item(u64, Value),
    Round(u64, Option<Value>),
    Seal,
    Nothing,
}

impl RunMachine {
    /// Starts the next part of a group, or seals the group.
    pub(in crate::run) fn next_part(&mut self, task: TaskId) {
        // The command may be older than the end of the group, since commands are queued.
        if self.queue.scheduler().state(task) != TaskState::Group {
            return;
        }
        let next = self.determine_next_part(task);
        // A stopped group may have ended by its last part; nothing new starts in it.
        let stopped = self.queue.scheduler().is_stopped(task);
        match next {
            NextPart::Item(..) if stopped => self.queue.notify(SchedulerEvent::Sealed(task)),
            // The outcome of the group depends on the round that should have followed.
            NextPart::Round(number, _) if stopped => {
                self.set_round(task, number);
                self.queue.notify(SchedulerEvent::Sealed(task));
            }
            NextPart::Item(index, item) => {
                if let Some(Group::Items { next, .. }) = self.group_mut(task) {
                    *next += 1;
                }
                self.start_part(task, TaskKind::Item, index, Some(item), None);
            }
            // Items are reserved all at once, since their number is known; the number of rounds is not.
            NextPart::Round(number, last) => match self.budgets.reserve_tasks(1) {
                Ok(()) => self.start_round(task, number, last),
                Err(error) => {
                    if let Some(data) = self.task_data_mut(task) {
                        data.last_error = Some(Box::new(error));
                    }
                    self.queue.notify(SchedulerEvent::Sealed(task));
                }
            },
            NextPart::Seal => self.queue.notify(SchedulerEvent::Sealed(task)),
            NextPart::Nothing => {}
        }
    }

    fn determine_next_part(&mut self, task: TaskId) -> NextPart {
        let Some(data) = self.task_data(task) else {
            return NextPart::Nothing;
        };
        match data.group.as_deref() {
            Some(Group::Items { items, next, .. }) => match items.get(*next) {
                Some(item) => NextPart::Item(*next as u64, item.clone()),
                None => NextPart::Seal,
            },
            Some(Group::Rounds { number, max, same }) => {
                let (number, max) = (*number, *max);
                let same = self.same_rounds(data, *same);
                let next = self.after_round(data, number, max, same);
                if let Some(Group::Rounds { same: at, .. }) = self.group_mut(task) {
                    *at = same;
                }
                match next {
                    Ok(next) => next,
                    Err(error) => {
                        if let Some(data) = self.task_data_mut(task) {
                            data.last_error = Some(Box::new(error));
                        }
                        NextPart::Seal
                    }
                }
            }
            // All steps of an inner plan have been added when it started.
            Some(Group::Plan { .. }) | None => NextPart::Nothing,
        }
    }

    /// The number of latest consecutive rounds with the same output; `before` is that number without the last round.
    fn same_rounds(&self, data: &TaskData, before: u64) -> u64 {
        let last = data.parts.last().and_then(|part| self.task_data(*part));
        let output = last.and_then(|last| last.outcome.as_ref()?.output.as_ref());
        match (
            output,
            last.and_then(|last| last.iteration.as_ref()?.last.as_ref()),
        ) {
            (Some(output), Some(earlier)) if output.value == *earlier => before + 1,
            _ => 1,
        }
    }

    /// Determines whether another round follows the one that has just ended.
    fn after_round(
        &self,
        data: &TaskData,
        number: u64,
        max: u64,
        same: u64,
    ) -> Result<NextPart, ToolError> {
        let outcome = data
            .parts
            .last()
            .and_then(|part| self.task_data(*part)?.outcome.clone());
        let Some(outcome) = outcome.filter(|outcome| outcome.status == StepStatus::Succeeded)
        else {
            return Ok(NextPart::Seal);
        };
        let value = outcome
            .output
            .as_ref()
            .map(|output| output.value.clone())
            .unwrap_or_default();
        let frame = self.frames.get(data.frame);
        let step = frame.and_then(|frame| frame.plan.plan().steps.get(data.step as usize));
        let (Some(frame), Some(repeat)) = (frame, step.and_then(|step| step.repeat.as_ref()))
        else {
            return Ok(NextPart::Seal);
        };
        let mut scope = self.scope(data, frame);
        scope.own_outcome = Some((data.step, outcome.as_ref()));
        scope.index = Some(number);
        match scope.node(&repeat.until, None) {
            Ok(Value::Bool(true)) => Ok(NextPart::Seal),
            Ok(Value::Bool(false)) if number + 1 < max => {
                // Rounds that always have the same output suggest a condition that never holds.
                self.budgets.guard.check_rounds(same)?;
                Ok(NextPart::Round(number + 1, Some(value)))
            }
            Ok(Value::Bool(false)) => Err(ToolError::new(
                ErrorKind::Budget,
                format!(
                    "the condition still does not hold after {max} rounds, the limit of `repeat.max`"
                ),
            )),
            Ok(other) => Err(ToolError::new(
                ErrorKind::Reference,
                format!("`until` must be true or false, found a {}", other.kind()),
            )),
            Err(ResolveError::Missing(error) | ResolveError::Fail(error)) => Err(*error),
            Err(ResolveError::Skip(reason)) => Err(ToolError::new(
                ErrorKind::Reference,
                format!("`until` needs `{}`, which did not run", reason.of),
            )),
            // The step waits for all that `until` reads before its first round, so this is an internal defect.
            Err(ResolveError::Wait(_)) => Err(ToolError::new(
                ErrorKind::Internal,
                "`until` needs a step that has not ended",
            )),
        }
    }

    fn group_mut(&mut self, task: TaskId) -> Option<&mut Group> {
        self.task_data_mut(task)?.group.as_deref_mut()
    }

    pub(in crate::run) fn start_round(&mut self, group: TaskId, number: u64, last: Option<Value>) {
        self.set_round(group, number);
        self.start_part(group, TaskKind::Round, number, None, last);
    }

    fn set_round(&mut self, group: TaskId, number: u64) {
        if let Some(Group::Rounds { number: at, .. }) = self.group_mut(group) {
            *at = number;
        }
    }

    fn start_part(
        &mut self,
        group: TaskId,
        kind: TaskKind,
        index: u64,
        item: Option<Value>,
        last: Option<Value>,
    ) {
        let Some(data) = self.task_data(group) else {
            return;
        };
        let mut address = Address::clone(&data.address);
        match kind {
            TaskKind::Item => address.item = Some(index),
            TaskKind::Round => address.round = Some(index),
            TaskKind::Step => {}
        }
        let mut part = TaskData::new(data.frame, data.step, kind, Arc::new(address));
        part.iteration = Some(Box::new(Iteration {
            // A round reads the item of its enclosing loop.
            item: item.or_else(|| data.iteration.as_ref()?.item.clone()),
            index,
            last,
        }));
        let rank = match data.group.as_deref() {
            // Fewer waves of items follow later items, so they rank lower than earlier ones.
            Some(Group::Items {
                items,
                item_cost,
                parallelism,
                ..
            }) => {
                let number = usize::try_from(index).unwrap_or(usize::MAX);
                let left = items.len().saturating_sub(number);
                let rank = waves(left, *parallelism)
                    .saturating_mul(*item_cost)
                    .saturating_add(data.path_after);
                part.path_after = rank.saturating_sub(*item_cost);
                rank
            }
            _ => {
                part.path_after = data.path_after;
                self.queue.scheduler().rank(group)
            }
        };
        let task = self.queue.add(Some(group), rank);
        self.tasks.push(part);
        if let Some(data) = self.task_data_mut(group) {
            data.parts.push(task);
        }
        self.queue.start(task, &[]);
    }
}

impl RunMachine {
    /// Computes the outcome of a group whose parts have all settled.
    pub(in crate::run) fn close_group(&mut self, task: TaskId) {
        if self.queue.scheduler().state(task) != TaskState::Group {
            return;
        }
        let outcome = self
            .task_data(task)
            .map(|data| match data.group.as_deref() {
                Some(Group::Items { items, .. }) => self.combine_items(task, data, items),
                Some(Group::Rounds { number, .. }) => self.combine_rounds(data, *number),
                Some(Group::Plan { frame }) => self.combine_plan(*frame),
                None => Outcome::failed(ToolError::new(ErrorKind::Internal, "a group of nothing")),
            });
        let is_draining = self.lifecycle.is_draining();
        if let Some(data) = self.task_data_mut(task) {
            // A group that the drain has interrupted did begin.
            let outcome = outcome.map(|outcome| match outcome.status {
                StepStatus::NotRun if is_draining => Outcome {
                    status: StepStatus::Cancelled,
                    ..outcome
                },
                StepStatus::Succeeded
                | StepStatus::Failed
                | StepStatus::Skipped
                | StepStatus::NotRun
                | StepStatus::Cancelled
                | StepStatus::Waiting
                | StepStatus::Unknown => outcome,
            });
            data.pending_outcome = outcome.map(Box::new);
        }
        self.queue.notify(SchedulerEvent::Closed(task));
    }

    /// Combines the outputs of items, in their order; `null` for items without one.
    fn combine_items(&self, task: TaskId, data: &TaskData, items: &[Value]) -> Outcome {
        let count = items.len();
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
        if self.pairs_items(task) {
            let outputs = std::mem::take(&mut values).into_iter();
            values.extend(items.iter().zip(outputs).map(|(item, output)| {
                Value::object([(ForEach::ITEM, item.clone()), (ForEach::OUTPUT, output)])
            }));
        }
        let output = Arc::new(ToolOutput::value(values.into()));
        let unfinished = unfinished_outcome(self.outcomes_of_parts(data).flatten())
            .or_else(|| (data.parts.len() < count).then(|| self.not_run_outcome()));
        match (first, unfinished) {
            // The other items follow when the run is resumed, so the step has not failed yet by the failure of one item.
            (Some(_), Some(outcome)) if self.lifecycle.is_draining() => outcome,
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
                // The values that its items need do not exist, so the step did not succeed.
                Some(reason) => Outcome::skipped(reason.clone()),
                None => Outcome::succeeded(output),
            },
        }
    }

    /// Returns true if the output of the loop contains each item with its output.
    fn pairs_items(&self, task: TaskId) -> bool {
        let step = self.step_of(task);
        step.and_then(|(_, step)| step.for_each.as_ref())
            .is_some_and(|for_each| for_each.with_item)
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
            // A round that was due but did not start leaves the result of the loop open.
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
        let unfinished = unfinished_outcome(frame.outcomes.iter().flatten());
        // A plan that continues after a failure has steps left to run when the run is resumed.
        let continues = self.lifecycle.is_draining()
            && frame.plan.plan().on_failure == OnFailure::KeepGoing
            && unfinished.is_some();
        if let Some(error) = failure.filter(|_| !continues) {
            return Outcome::failed(error);
        }
        if let Some(unfinished) = unfinished {
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
                let scope = ReferenceScope {
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
                    ResolveError::Missing(error) | ResolveError::Fail(error) => *error,
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

/// Returns the outcome of a group with unfinished parts: that of the first unfinished part. A part with an unknown outcome has precedence,
/// because a person must learn of it. `None` if no part is unfinished.
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
