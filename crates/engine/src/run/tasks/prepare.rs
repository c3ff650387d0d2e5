//! Preparation of tasks: the next action of a task that waits for no other task.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Action, Concurrency, Name, Node, OnError, PlanTarget, Source, Step};
use planwright_core::schema::Type;
use planwright_core::{Object, Tool, Value};

use super::task::{Group, TaskData, TaskKind};
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::run::effects::Effect;
use crate::run::journaling::records::PriorCall;
use crate::run::outcome::{Outcome, SkipKind, SkipReason, StepStatus};
use crate::run::report::cost_model::CostModel;
use crate::run::run_machine::RunMachine;
use crate::run::values::resolve::{ReferenceScope, ResolveError, fail};
use crate::run::values::slots::{Frame, Slots};
use crate::schedule::{CallTerms, Prepared, SchedulerEvent, TaskId, TaskState};

/// The maximum number of started items of a loop without its own limit. It bounds memory; parallelism is bounded by
/// the limits on calls.
const MAX_STARTED_ITEMS: usize = 1024;

impl RunMachine {
    pub(in crate::run) fn prepare(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // The task may have been stopped since the command was queued.
        if self.queue.scheduler().state(task) != TaskState::Preparing {
            return;
        }
        let action = match self.chosen_outcome(task, effects) {
            Some(outcome) => TaskAction::Done(outcome),
            None => self.next_action(task),
        };
        match action {
            TaskAction::Wait(on) => {
                let tasks: Vec<TaskId> = self
                    .step_of(task)
                    .map(|(frame, _)| on.iter().filter_map(|step| frame.task(*step)).collect())
                    .unwrap_or_default();
                self.queue
                    .notify(SchedulerEvent::Prepared(task, Prepared::WaitFor(tasks)));
            }
            TaskAction::Done(mut outcome) => {
                // A call that succeeded stays done, even if its arguments cannot be computed any more.
                if outcome.status == StepStatus::Failed
                    && let Some(before) = self.earlier_answer(task)
                {
                    let tool = self.tool_of(task);
                    if let Some(data) = self.task_data_mut(task) {
                        data.tool = tool;
                    }
                    outcome = before;
                }
                // Skipped and failed steps never began.
                if outcome.status == StepStatus::Succeeded {
                    self.begin(task, effects);
                }
                if let Some(data) = self.task_data_mut(task) {
                    data.pending_outcome = Some(Box::new(outcome));
                }
                self.queue
                    .notify(SchedulerEvent::Prepared(task, Prepared::Done));
            }
            TaskAction::Items(_) | TaskAction::Rounds(_) | TaskAction::Plan(_)
                if let Some(error) = self.earlier_timeout(task) =>
            {
                self.fail_before_call(task, error);
            }
            TaskAction::Items(items) => {
                if let Err(error) = self.budgets.reserve_tasks(items.len()) {
                    return self.fail_before_call(task, error);
                }
                let max = self
                    .step_of(task)
                    .and_then(|(_, step)| step.for_each.as_ref()?.max_parallel);
                let window = max.map_or(MAX_STARTED_ITEMS, |max| max.get() as usize);
                // One more than the number of items, so the extra call seals the group.
                let window = window.min(items.len().saturating_add(1));
                let (item_cost, parallelism) = self.item_costs(task);
                let group = Group::Items {
                    items,
                    next: 0,
                    item_cost,
                    parallelism,
                };
                self.open_group(task, group, effects);
                for _ in 0..window {
                    self.next_part(task);
                }
            }
            TaskAction::Rounds(max) => {
                if let Err(error) = self.budgets.reserve_tasks(1) {
                    return self.fail_before_call(task, error);
                }
                self.open_group(
                    task,
                    Group::Rounds {
                        number: 0,
                        max,
                        same: 0,
                    },
                    effects,
                );
                self.start_round(task, 0, None);
            }
            TaskAction::Call(args) => self.prepare_call(task, args, effects),
            TaskAction::Plan(args) => self.open_plan(task, args, effects),
        }
    }

    /// The expected duration of one item of a loop, and the maximum number of concurrent ones.
    fn item_costs(&self, task: TaskId) -> (u64, u64) {
        let mut costs = CostModel::new(&self.options.durations, &self.options.limits);
        self.step_of(task)
            .and_then(|(frame, step)| {
                let checked = frame
                    .plan
                    .steps()
                    .get(self.task_data(task)?.step as usize)?;
                Some((
                    costs.action(step, checked),
                    costs.parallelism(step, checked),
                ))
            })
            .unwrap_or((0, 1))
    }

    fn open_group(&mut self, task: TaskId, group: Group, effects: &mut Vec<Effect>) {
        if let Some(data) = self.task_data_mut(task) {
            data.group = Some(Box::new(group));
        }
        self.begin(task, effects);
        let timeout = self.step_timeout(task);
        self.queue
            .notify(SchedulerEvent::Prepared(task, Prepared::Group(timeout)));
    }

    /// The time limit of a task: only a whole step has one, not its items and rounds.
    fn step_timeout(&self, task: TaskId) -> Option<std::time::Duration> {
        let kind = self.task_data(task)?.kind;
        let (_, step) = self.step_of(task)?;
        match kind {
            TaskKind::Step => step.timeout.or(self.options.step_timeout),
            TaskKind::Item | TaskKind::Round => None,
        }
    }

    fn tool_of(&self, task: TaskId) -> Option<Arc<Tool>> {
        let data = self.task_data(task)?;
        let frame = self.frames.get(data.frame)?;
        frame.plan.steps().get(data.step as usize)?.tool.clone()
    }

    fn prepare_call(&mut self, task: TaskId, args: Value, effects: &mut Vec<Effect>) {
        let Some(tool) = self.tool_of(task) else {
            let error = ToolError::new(ErrorKind::Internal, "the step has no tool");
            return self.fail_before_call(task, error);
        };
        if let Some(data) = self.task_data_mut(task) {
            data.tool = Some(Arc::clone(&tool));
            data.args = Some(args.clone());
        }
        self.exclude_args_from_sources(&args);
        // Arguments must be valid only for a call that is yet to be made.
        let before = self.prior_call(task, &tool, &args);
        if matches!(before, PriorCall::Nothing | PriorCall::Approved(_))
            && let Err(error) = self
                .check_args(task, &args)
                .and_then(|()| self.check_flow(task, &args))
        {
            return self.fail_before_call(task, error);
        }
        if matches!(before, PriorCall::Nothing | PriorCall::Approved(_))
            && let Err(error) = self.charge_call(&args)
        {
            // Arguments over the budget must not be shown either.
            if let Some(data) = self.task_data_mut(task) {
                data.args = None;
            }
            return self.fail_before_call(task, error);
        }
        let mut agreed = false;
        match before {
            PriorCall::Nothing => {}
            PriorCall::Ended(outcome) => {
                self.begin(task, effects);
                if let Some(data) = self.task_data_mut(task) {
                    data.pending_outcome = Some(Box::new(outcome));
                }
                return self
                    .queue
                    .notify(SchedulerEvent::Prepared(task, Prepared::Done));
            }
            PriorCall::Approved(changed) => {
                // Approved arguments that are not valid any more need a new decision.
                let changed = changed.map(|changed| self.with_own_secrets(task, &changed));
                match changed {
                    None => agreed = true,
                    Some(Ok(args)) if self.check_args(task, &args).is_ok() => {
                        agreed = true;
                        if let Some(data) = self.task_data_mut(task) {
                            data.args = Some(args);
                        }
                    }
                    Some(_) => {}
                }
            }
            // The call may have happened, so only a person can decide whether it is made again.
            PriorCall::InDoubt => {
                if let Some(data) = self.task_data_mut(task) {
                    data.outcome_unknown = true;
                }
            }
        }
        let outcome_unknown = self
            .task_data(task)
            .is_some_and(|data| data.outcome_unknown);
        let step_timeout = self.step_timeout(task);
        let lane = self.queue.lane(&tool);
        let approval = self.needs_consent(task, &tool);
        let Some((_, step)) = self.step_of(task) else {
            return;
        };
        let of_run = self.options.retry;
        let retry = step.retry.map_or(of_run, |retry| retry.merged_into(of_run));
        let terms = CallTerms {
            lane,
            is_exclusive: step.concurrency == Concurrency::Alone,
            approval: outcome_unknown || (approval && !agreed),
            retry,
            // A step with its own limit is bound by that alone.
            attempt_timeout: match step.timeout {
                Some(_) => None,
                None => self.options.attempt_timeout,
            },
            step_timeout,
            // Consent covers one call, so a call that may have happened is not repeated under it.
            retry_uncertain: !approval || tool.is_repeatable(),
        };
        self.queue
            .notify(SchedulerEvent::Prepared(task, Prepared::Call(terms)));
    }

    fn fail_before_call(&mut self, task: TaskId, error: ToolError) {
        if let Some(data) = self.task_data_mut(task) {
            data.pending_outcome = Some(Box::new(Outcome::failed(error)));
        }
        self.queue
            .notify(SchedulerEvent::Prepared(task, Prepared::Done));
    }

    fn open_plan(&mut self, task: TaskId, args: Value, effects: &mut Vec<Effect>) {
        let opened = self.task_data(task).and_then(|data| {
            let frame = self.frames.get(data.frame)?;
            let plan = frame.plan.steps().get(data.step as usize)?.plan.clone()?;
            let (_, step) = self.step_of(task)?;
            let scopes = match &step.action {
                Action::Plan(call) => call.scopes.clone(),
                Action::Tool(_) | Action::Value(_) => Vec::new(),
            };
            // The inner plan gets copies: its writes do not reach the slots of the outer one.
            let shared = (!scopes.is_empty()).then(|| {
                let mut shared = Slots::default();
                for kind in scopes {
                    shared.fill(kind, &frame.slots.all(kind));
                }
                Arc::new(shared)
            });
            Some((plan, shared))
        });
        let Some((plan, shared)) = opened else {
            let error = ToolError::new(ErrorKind::Internal, "the step has no plan");
            return self.fail_before_call(task, error);
        };
        let none = Object::default();
        let arguments = args.as_object().unwrap_or(&none);
        let room = self.budgets.reserve_tasks(plan.steps().len());
        let room = room.and_then(|()| {
            self.budgets
                .memory
                .add_parts(0, fields_of(&plan, arguments))
        });
        if let Err(error) = room.and_then(|()| self.charge_value(&args)) {
            return self.fail_before_call(task, error);
        }
        let frame = self.frames.len();
        if let Some(data) = self.task_data_mut(task) {
            data.args = Some(args.clone());
        }
        self.open_group(task, Group::Plan { frame }, effects);
        self.instantiate(plan, Some(task), None, arguments, shared);
        self.start_steps(frame, 0);
        // All steps of the plan are known, so no children will be added.
        self.queue.notify(SchedulerEvent::Sealed(task));
    }
}

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
    /// Determines the next action of a task that waits for no other task.
    fn next_action(&self, task: TaskId) -> TaskAction {
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
        // The condition is evaluated before the list, because it may guard the list.
        if let Some(when) = &step.when
            && !is_per_item(step, when)
            && !is_true(when, scope)?
        {
            return Ok(TaskAction::Done(condition_failed(step)));
        }
        let Some(for_each) = &step.for_each else {
            return action_of_body(step, frame, data.step, scope);
        };
        match scope.node(&for_each.over, None)? {
            Value::List(items) => Ok(TaskAction::Items(items)),
            other => Err(fail(
                ErrorKind::Reference,
                format!("`for_each` needs a list, found a {}", other.kind()),
            )),
        }
    }

    /// Returns true if a failure of `name` prevents a step that only has to come after it.
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

/// The number of fields in the initial slots of a plan.
fn fields_of(plan: &CheckedPlan, arguments: &Object) -> usize {
    let contents = plan.plan().contents.iter();
    let contents = contents.filter_map(|content| content.value.as_object());
    let contents: usize = contents.map(Object::len).sum();
    // Inputs have their own slots; those that are variables have two.
    arguments.len() + plan.inputs().len() + plan.plan().inputs.len() + contents
}

fn action_of_item(
    step: &Step,
    index: u32,
    scope: &ReferenceScope<'_>,
) -> Result<TaskAction, ResolveError> {
    if let Some(when) = &step.when
        && is_per_item(step, when)
        && !is_true(when, scope)?
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

/// Returns true if a step has references that are resolved at a time when it cannot wait.
fn needs_everything(step: &Step) -> bool {
    step.repeat.is_some()
        || matches!(&step.on_error, OnError::Output(node) if node.as_literal().is_none())
}

fn is_true(condition: &Node, scope: &ReferenceScope<'_>) -> Result<bool, ResolveError> {
    match scope.node(condition, None)? {
        Value::Bool(is_true) => Ok(is_true),
        other => Err(fail(
            ErrorKind::Reference,
            format!(
                "a condition must be true or false, found a {}",
                other.kind()
            ),
        )),
    }
}

fn condition_failed(step: &Step) -> Outcome {
    Outcome::skipped(SkipReason::new(
        SkipKind::Condition,
        Arc::clone(step.id.text()),
    ))
}
