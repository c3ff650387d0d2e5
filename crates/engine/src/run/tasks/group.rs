//! Groups: items of loops, rounds of repetitions, steps of inner plans, and the start of their parts.

use std::sync::Arc;

use planwright_core::Value;

use crate::backend::{ErrorKind, ToolError};
use crate::event::Address;
use crate::run::outcome::StepStatus;
use crate::run::report::cost_model::waves;
use crate::run::state::Run;
use crate::run::tasks::task_data::{Group, Iteration, TaskData, TaskKind};
use crate::run::values::resolve::ResolveError;
use crate::schedule::{Event, TaskId, TaskState};

/// The next step of a group after one of its parts has settled.
enum NextPart {
    Item(u64, Value),
    Round(u64, Option<Value>),
    Seal,
    Nothing,
}

impl Run {
    /// Starts the next part of a group, or seals the group.
    pub(in crate::run) fn next_part(&mut self, task: TaskId) {
        if self.scheduler.state(task) != TaskState::Group {
            return;
        }
        let next = self.determine_next_part(task);
        // The last part may have ended a stopped group anyway; nothing new is started in one.
        let stopped = self.scheduler.is_stopped(task);
        match next {
            NextPart::Item(..) if stopped => self.notify(Event::Sealed(task)),
            // The outcome of the group depends on the round that should have followed.
            NextPart::Round(number, _) if stopped => {
                self.set_round(task, number);
                self.notify(Event::Sealed(task));
            }
            NextPart::Item(index, item) => {
                if let Some(Group::Items { next, .. }) = self.group_mut(task) {
                    *next += 1;
                }
                self.start_part(task, TaskKind::Item, index, Some(item), None);
            }
            NextPart::Round(number, last) => match self.budgets.reserve_tasks(1) {
                Ok(()) => self.start_round(task, number, last),
                Err(error) => {
                    if let Some(data) = self.task_data_mut(task) {
                        data.last_error = Some(Box::new(error));
                    }
                    self.notify(Event::Sealed(task));
                }
            },
            NextPart::Seal => self.notify(Event::Sealed(task)),
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
                self.budgets.guard.check_rounds(same)?;
                Ok(NextPart::Round(number + 1, Some(value)))
            }
            Ok(Value::Bool(false)) => Err(ToolError::new(
                ErrorKind::Budget,
                format!(
                    "the condition still does not hold after {max} rounds, the most that `repeat.max` allows"
                ),
            )),
            Ok(other) => Err(ToolError::new(
                ErrorKind::Reference,
                format!("`until` must be true or false, found a {}", other.kind()),
            )),
            Err(ResolveError::Missing(error) | ResolveError::Fail(error)) => Err(error),
            Err(ResolveError::Skip(reason)) => Err(ToolError::new(
                ErrorKind::Reference,
                format!("`until` needs `{}`, which did not run", reason.of),
            )),
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
            // Later items have fewer waves of items after them, so they rank lower than earlier ones.
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
                self.scheduler.rank(group)
            }
        };
        let task = self.scheduler.add(Some(group), rank);
        self.tasks.push(part);
        if let Some(data) = self.task_data_mut(group) {
            data.parts.push(task);
        }
        self.start_task(task, &[]);
    }
}
