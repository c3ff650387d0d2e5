//! The action of a task whose waits are over.

use std::sync::Arc;

use planwright_core::Value;
use planwright_core::plan::{Action, Name, Node, OnError, PlanTarget, Source, Step};
use planwright_core::schema::Type;

use super::task::{TaskData, TaskKind};
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::run::outcome::{Outcome, SkipKind, SkipReason, StepStatus};
use crate::run::state::RunMachine;
use crate::run::values::frame::Frame;
use crate::run::values::resolve::{ReferenceScope, ResolveError};
use crate::schedule::TaskId;

/// The action that a task takes next.
pub(super) enum TaskAction {
    Wait(Vec<u32>),
    Done(Outcome),
    Items(Arc<Vec<Value>>),
    Rounds(u64),
    Call(Value),
    Plan(Value),
}

impl From<ResolveError> for TaskAction {
    fn from(unbound: ResolveError) -> Self {
        match unbound {
            ResolveError::Wait(on) => Self::Wait(on),
            ResolveError::Skip(reason) => Self::Done(Outcome::skipped(reason)),
            ResolveError::Missing(error) | ResolveError::Fail(error) => {
                Self::Done(Outcome::failed(error))
            }
        }
    }
}

impl RunMachine {
    /// Determines the action of a task whose waits are over.
    pub(super) fn next_action(&self, task: TaskId) -> TaskAction {
        let internal = || {
            TaskAction::Done(Outcome::failed(ToolError::new(
                ErrorKind::Internal,
                "an unknown task",
            )))
        };
        let Some(data) = self.task_data(task) else {
            return internal();
        };
        let Some((frame, step)) = self.step_of(task) else {
            return internal();
        };
        let scope = self.scope(data, frame);
        let looked = match data.kind {
            TaskKind::Step => Self::action_of_step(data, frame, step, &scope),
            TaskKind::Item => action_of_item(step, data.step, &scope),
            // The condition of the step was evaluated before its first round.
            TaskKind::Round => resolve_action(step, frame, data.step, &scope),
        };
        looked.unwrap_or_else(TaskAction::from)
    }

    fn action_of_step(
        data: &TaskData,
        frame: &Frame,
        step: &Step,
        scope: &ReferenceScope<'_>,
    ) -> Result<TaskAction, ResolveError> {
        if let Some(blocking) = step
            .after
            .iter()
            .find(|name| Self::blocks_after(frame, name))
        {
            let reason = SkipReason::new(SkipKind::Step, Arc::clone(&blocking.text));
            return Ok(TaskAction::Done(Outcome::skipped(reason)));
        }
        // Such a step waits for all its references before it starts.
        if needs_everything(step) {
            let open: Vec<u32> = frame
                .plan
                .steps()
                .get(data.step as usize)
                .into_iter()
                .flat_map(|checked| &checked.dependencies)
                .map(|dependency| dependency.on)
                .filter(|on| {
                    *on != data.step && frame.task(*on).is_some() && frame.outcome(*on).is_none()
                })
                .collect();
            if !open.is_empty() {
                return Ok(TaskAction::Wait(open));
            }
        }
        // The condition goes before the list, which it may guard: a step that is skipped needs none.
        if let Some(when) = &step.when
            && !is_per_item(step, when)
            && !holds(when, scope)?
        {
            return Ok(TaskAction::Done(condition_failed(step)));
        }
        let Some(for_each) = &step.for_each else {
            return action_of_body(step, frame, data.step, scope);
        };
        match scope.node(&for_each.over, None)? {
            Value::List(items) => Ok(TaskAction::Items(items)),
            other => Err(ResolveError::Fail(ToolError::new(
                ErrorKind::Reference,
                format!("`for_each` needs a list, found a {}", other.kind()),
            ))),
        }
    }

    /// Returns true if a step that only has to come after `name` must not run, because of a failure.
    fn blocks_after(frame: &Frame, name: &Name) -> bool {
        let outcome = frame
            .plan
            .step_index(&name.text)
            .and_then(|step| frame.outcome(step));
        match outcome {
            Some(outcome) => match outcome.status {
                StepStatus::Succeeded => false,
                StepStatus::Failed => !outcome.handled,
                StepStatus::Skipped => outcome.by_failure,
                StepStatus::NotRun
                | StepStatus::Cancelled
                | StepStatus::Waiting
                | StepStatus::Unknown => true,
            },
            None => false,
        }
    }
}

fn action_of_item(
    step: &Step,
    index: u32,
    scope: &ReferenceScope<'_>,
) -> Result<TaskAction, ResolveError> {
    if let Some(when) = &step.when
        && is_per_item(step, when)
        && !holds(when, scope)?
    {
        return Ok(TaskAction::Done(condition_failed(step)));
    }
    action_of_body(step, scope.frame, index, scope)
}

fn action_of_body(
    step: &Step,
    frame: &Frame,
    index: u32,
    scope: &ReferenceScope<'_>,
) -> Result<TaskAction, ResolveError> {
    match &step.repeat {
        Some(repeat) => Ok(TaskAction::Rounds(u64::from(repeat.max.get()))),
        None => resolve_action(step, frame, index, scope),
    }
}

fn resolve_action(
    step: &Step,
    frame: &Frame,
    index: u32,
    scope: &ReferenceScope<'_>,
) -> Result<TaskAction, ResolveError> {
    match &step.action {
        Action::Value(node) => {
            let value = scope.node(node, None)?;
            Ok(TaskAction::Done(Outcome::succeeded(Arc::new(
                ToolOutput::value(value),
            ))))
        }
        Action::Tool(_) => {
            let expected: Option<&Type> = frame
                .plan
                .steps()
                .get(index as usize)
                .and_then(|checked| checked.tool.as_ref())
                .map(|tool| tool.input.structure());
            let args = match scope.node(&step.args, expected)? {
                // The plan has no arguments for the call.
                Value::Null if step.args.as_literal().is_some() => Value::empty_object(),
                args => args,
            };
            Ok(TaskAction::Call(args))
        }
        Action::Plan(call) => {
            debug_assert!(matches!(
                call.target,
                PlanTarget::Named(_) | PlanTarget::Inline(_)
            ));
            Ok(TaskAction::Plan(scope.node(&step.args, None)?))
        }
    }
}

/// Returns true if a condition is evaluated for each item of the step's loop.
fn is_per_item(step: &Step, when: &Node) -> bool {
    let mut per_item = false;
    when.each_reference(&mut |reference| {
        per_item |= reference
            .reads()
            .iter()
            .any(|read| matches!(read.source, Source::Item | Source::Index));
    });
    step.for_each.is_some() && per_item
}

/// Returns true if a step has references that are resolved when it cannot wait any more.
fn needs_everything(step: &Step) -> bool {
    step.repeat.is_some()
        || matches!(&step.on_error, OnError::Output(node) if node.as_literal().is_none())
}

fn holds(condition: &Node, scope: &ReferenceScope<'_>) -> Result<bool, ResolveError> {
    match scope.node(condition, None)? {
        Value::Bool(holds) => Ok(holds),
        other => Err(ResolveError::Fail(ToolError::new(
            ErrorKind::Reference,
            format!(
                "a condition must be true or false, found a {}",
                other.kind()
            ),
        ))),
    }
}

fn condition_failed(step: &Step) -> Outcome {
    Outcome::skipped(SkipReason::new(
        SkipKind::Condition,
        Arc::clone(step.id.text()),
    ))
}
