//! Items of loops, rounds of repetitions, steps of inner plans: how they begin and what they add up to.

use std::sync::Arc;

use planwright_core::plan::Output;
use planwright_core::{Object, Value};

use super::bind::Unbound;
use super::frame::Frame;
use super::made::Made;
use super::outcome::{Because, Outcome, StepStatus};
use super::pace::waves;
use super::state::Run;
use super::work::{Group, Layer, Turn, Work};
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::event::Address;
use crate::schedule::{Event, TaskId, TaskState};

/// What goes on in a group after one of its parts has settled.
enum Then {
    Item(u64, Value),
    Round(u64, Option<Value>),
    Seal,
    Nothing,
}

impl Run {
    /// Begins the next part of a group, or seals it.
    pub(super) fn next_part(&mut self, task: TaskId) {
        if self.scheduler.state(task) != TaskState::Group {
            return;
        }
        let then = self.what_follows(task);
        // The last part may have ended it even so; what would follow does not begin any more.
        let stopped = self.scheduler.is_stopped(task);
        match then {
            Then::Item(..) if stopped => self.tell(Event::Sealed(task)),
            Then::Round(number, _) if stopped => {
                self.at_round(task, number);
                self.tell(Event::Sealed(task));
            }
            Then::Item(index, item) => {
                if let Some(Group::Items { next, .. }) = self.group_mut(task) {
                    *next += 1;
                }
                self.start_part(task, Layer::Item, index, Some(item), None);
            }
            Then::Round(number, last) => match self.promise(1) {
                Ok(()) => self.start_round(task, number, last),
                Err(error) => {
                    if let Some(work) = self.work_mut(task) {
                        work.last_error = Some(Box::new(error));
                    }
                    self.tell(Event::Sealed(task));
                }
            },
            Then::Seal => self.tell(Event::Sealed(task)),
            Then::Nothing => {}
        }
    }

    fn what_follows(&mut self, task: TaskId) -> Then {
        let Some(work) = self.work(task) else {
            return Then::Nothing;
        };
        match work.group.as_deref() {
            Some(Group::Items { items, next, .. }) => match items.get(*next) {
                Some(item) => Then::Item(*next as u64, item.clone()),
                None => Then::Seal,
            },
            Some(Group::Rounds { number, max, same }) => {
                let (number, max) = (*number, *max);
                let same = self.same_rounds(work, *same);
                let then = self.round_ended(work, number, max, same);
                if let Some(Group::Rounds { same: at, .. }) = self.group_mut(task) {
                    *at = same;
                }
                match then {
                    Ok(then) => then,
                    Err(error) => {
                        if let Some(work) = self.work_mut(task) {
                            work.last_error = Some(Box::new(error));
                        }
                        Then::Seal
                    }
                }
            }
            Some(Group::Plan { .. }) | None => Then::Nothing,
        }
    }

    /// How many of the latest rounds gave the same, of which `before` did before the one that has just ended.
    fn same_rounds(&self, work: &Work, before: u64) -> u64 {
        let last = work.parts.last().and_then(|part| self.work(*part));
        let output = last.and_then(|last| last.outcome.as_ref()?.output.as_ref());
        match (
            output,
            last.and_then(|last| last.turn.as_ref()?.last.as_ref()),
        ) {
            (Some(output), Some(earlier)) if output.value == *earlier => before + 1,
            _ => 1,
        }
    }

    /// Whether another round follows the one that has just ended.
    fn round_ended(
        &self,
        work: &Work,
        number: u64,
        max: u64,
        same: u64,
    ) -> Result<Then, ToolError> {
        let outcome = work
            .parts
            .last()
            .and_then(|part| self.work(*part)?.outcome.clone());
        let Some(outcome) = outcome.filter(|outcome| outcome.status == StepStatus::Succeeded)
        else {
            return Ok(Then::Seal);
        };
        let value = outcome
            .output
            .as_ref()
            .map(|output| output.value.clone())
            .unwrap_or_default();
        let frame = self.frames.get(work.frame);
        let step = frame.and_then(|frame| frame.plan.plan().steps.get(work.step as usize));
        let (Some(frame), Some(repeat)) = (frame, step.and_then(|step| step.repeat.as_ref()))
        else {
            return Ok(Then::Seal);
        };
        let mut scope = self.scope(work, frame);
        scope.own = Some((work.step, outcome.as_ref()));
        scope.index = Some(number);
        match scope.node(&repeat.until, None) {
            Ok(Value::Bool(true)) => Ok(Then::Seal),
            Ok(Value::Bool(false)) if number + 1 < max => {
                self.guard.goes_on(same)?;
                Ok(Then::Round(number + 1, Some(value)))
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
            Err(Unbound::Missing(error) | Unbound::Fail(error)) => Err(error),
            Err(Unbound::Skip(reason)) => Err(ToolError::new(
                ErrorKind::Reference,
                format!("`until` needs `{}`, which did not run", reason.of),
            )),
            Err(Unbound::Wait(_)) => Err(ToolError::new(
                ErrorKind::Internal,
                "`until` needs a step that has not ended",
            )),
        }
    }

    fn group_mut(&mut self, task: TaskId) -> Option<&mut Group> {
        self.work_mut(task)?.group.as_deref_mut()
    }

    pub(super) fn start_round(&mut self, group: TaskId, number: u64, last: Option<Value>) {
        self.at_round(group, number);
        self.start_part(group, Layer::Round, number, None, last);
    }

    fn at_round(&mut self, group: TaskId, number: u64) {
        if let Some(Group::Rounds { number: at, .. }) = self.group_mut(group) {
            *at = number;
        }
    }

    fn start_part(
        &mut self,
        group: TaskId,
        layer: Layer,
        index: u64,
        item: Option<Value>,
        last: Option<Value>,
    ) {
        let Some(work) = self.work(group) else {
            return;
        };
        let mut address = Address::clone(&work.address);
        match layer {
            Layer::Item => address.item = Some(index),
            Layer::Round => address.round = Some(index),
            Layer::Step => {}
        }
        let mut part = Work::new(work.frame, work.step, layer, Arc::new(address));
        part.turn = Some(Box::new(Turn {
            item: item.or_else(|| work.turn.as_ref()?.item.clone()),
            index,
            last,
        }));
        let rank = match work.group.as_deref() {
            // An item that comes late has fewer of its like behind it than one that comes early.
            Some(Group::Items {
                items,
                each,
                together,
                ..
            }) => {
                let number = usize::try_from(index).unwrap_or(usize::MAX);
                let left = items.len().saturating_sub(number);
                let rank = waves(left, *together)
                    .saturating_mul(*each)
                    .saturating_add(work.behind);
                part.behind = rank.saturating_sub(*each);
                rank
            }
            _ => {
                part.behind = work.behind;
                self.scheduler.rank(group)
            }
        };
        let task = self.scheduler.add(Some(group), rank);
        self.work.push(part);
        if let Some(work) = self.work_mut(group) {
            work.parts.push(task);
        }
        self.start_task(task, &[]);
    }

    /// Works out what a group gives, now that all its parts have settled.
    pub(super) fn close(&mut self, task: TaskId) {
        if self.scheduler.state(task) != TaskState::Group {
            return;
        }
        let outcome = self.work(task).map(|work| match work.group.as_deref() {
            Some(Group::Items { items, .. }) => self.sum_items(work, items.len()),
            Some(Group::Rounds { number, .. }) => self.sum_rounds(work, *number),
            Some(Group::Plan { frame }) => self.sum_plan(*frame),
            None => Outcome::failed(ToolError::new(ErrorKind::Internal, "a group of nothing")),
        });
        if let Some(work) = self.work_mut(task) {
            work.pending = outcome.map(Box::new);
        }
        self.tell(Event::Closed(task));
    }

    /// The list of outputs, in the order of the items; `null` for those without one.
    fn sum_items(&self, work: &Work, count: usize) -> Outcome {
        let mut values = Vec::with_capacity(count);
        let mut failures = Vec::new();
        let mut first = None;
        let mut skipped = None;
        for (index, outcome) in self.outcomes_of_parts(work).enumerate() {
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
                    skipped = skipped.or(reason.filter(|reason| reason.because == Because::Step));
                }
                _ => {}
            }
        }
        values.resize(count, Value::Null);
        let output = Arc::new(ToolOutput::value(values.into()));
        let unfinished = unfinished(self.outcomes_of_parts(work).flatten())
            .or_else(|| (work.parts.len() < count).then(|| self.not_begun()));
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
                // What its items need does not exist, so the step is none that succeeded.
                Some(reason) => Outcome::skipped(reason.clone()),
                None => Outcome::succeeded(output),
            },
        }
    }

    /// What has become of the parts of a group that have begun, in their order.
    fn outcomes_of_parts<'a>(
        &'a self,
        work: &'a Work,
    ) -> impl Iterator<Item = Option<&'a Arc<Outcome>>> {
        let parts = work.parts.iter();
        parts.map(|part| self.work(*part).and_then(|part| part.outcome.as_ref()))
    }

    /// The output of the last round, unless the round `number` should have followed.
    fn sum_rounds(&self, work: &Work, number: u64) -> Outcome {
        let last = work
            .parts
            .last()
            .and_then(|part| self.work(*part)?.outcome.clone());
        match (&work.last_error, last) {
            (Some(error), last) => {
                let mut outcome = Outcome::failed(ToolError::clone(error));
                outcome.output = last.and_then(|last| last.output.clone());
                outcome
            }
            (None, Some(last)) if work.parts.len() as u64 > number => Outcome::clone(&last),
            (None, _) => self.not_begun(),
        }
    }

    /// What an inner plan selects; its first failure where it has one.
    fn sum_plan(&self, frame: usize) -> Outcome {
        let Some(frame) = self.frames.get(frame) else {
            return Outcome::failed(ToolError::new(ErrorKind::Internal, "an unknown plan"));
        };
        let failure = frame
            .failed
            .and_then(|step| frame.outcome(step)?.error.clone());
        if let Some(error) = failure {
            return Outcome::failed(error);
        }
        if let Some(unfinished) = unfinished(frame.outcomes.iter().flatten()) {
            return unfinished;
        }
        match self.output_of(frame) {
            Ok(value) => Outcome::succeeded(Arc::new(ToolOutput::value(value))),
            Err(error) => Outcome::failed(error),
        }
    }

    /// What a plan gives back: the steps that it selects, or its output value.
    pub(super) fn output_of(&self, frame: &Frame) -> Result<Value, ToolError> {
        let plan = frame.plan.plan();
        let value_of = |step: u32| {
            let output = frame.outcome(step)?.output.as_ref()?;
            Some(output.value.clone())
        };
        let selected: Object = match &plan.output {
            Output::Value(node) => {
                let warnings = &self.warnings;
                // How a run stands may be asked often, and nobody keeps the answer here.
                let passing = Made::new(self.options.computed_bytes);
                let is_kept = frame.owner.is_some();
                let scope = super::bind::Scope {
                    frame,
                    item: None,
                    index: None,
                    last: None,
                    own: None,
                    outside: &self.options.confidential,
                    limits: &self.options.evaluation,
                    warnings,
                    made: if is_kept { &self.made } else { &passing },
                };
                return scope.node(node, None).map_err(|unbound| match unbound {
                    Unbound::Missing(error) | Unbound::Fail(error) => error,
                    Unbound::Skip(reason) => ToolError::new(
                        ErrorKind::Reference,
                        format!(
                            "the plan's output needs `{}`, which nothing filled",
                            reason.of
                        ),
                    ),
                    Unbound::Wait(_) => ToolError::new(
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

/// What has become of a whole that ended before all of its parts had: what has of the first such part, unless one of them may
/// have happened, of which a person has to hear.
fn unfinished<'a>(parts: impl Iterator<Item = &'a Arc<Outcome>>) -> Option<Outcome> {
    let mut first = None;
    for part in parts {
        match part.status {
            StepStatus::Unknown => return Some(Outcome::without_output(part.status, None)),
            StepStatus::NotRun | StepStatus::Cancelled => first = first.or(Some(part)),
            _ => {}
        }
    }
    first.map(|part| Outcome::without_output(part.status, part.reason.clone()))
}

fn plan_step(frame: &Frame, id: &str) -> Option<u32> {
    frame.plan.step_index(id)
}
