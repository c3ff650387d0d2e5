//! Preparation of tasks: the action of a task whose waits are over.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Action, Concurrency};
use planwright_core::{Object, Tool, Value};

use super::task_action::TaskAction;
use crate::backend::{ErrorKind, ToolError};
use crate::run::effect::Effect;
use crate::run::journaling::records::PriorCall;
use crate::run::outcome::{Outcome, StepStatus};
use crate::run::report::cost_model::CostModel;
use crate::run::state::RunMachine;
use crate::run::tasks::task::{Group, TaskKind};
use crate::run::values::slots::Slots;
use crate::schedule::{CallTerms, Event, Prepared, TaskId, TaskState};

/// The maximum number of started items of a loop without its own limit. It bounds memory; parallelism is bounded by
/// the limits on calls.
const MAX_STARTED_ITEMS: usize = 1024;

impl RunMachine {
    pub(in crate::run) fn prepare(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // The task may have been stopped since the command was queued.
        if self.scheduler().state(task) != TaskState::Preparing {
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
                self.notify(Event::Prepared(task, Prepared::WaitFor(tasks)));
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
                self.notify(Event::Prepared(task, Prepared::Done));
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
        self.notify(Event::Prepared(task, Prepared::Group(timeout)));
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
            && let Err(error) = self.write_call(&args)
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
                return self.notify(Event::Prepared(task, Prepared::Done));
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
        let lane = self.lane(&tool);
        let approval = self.needs_consent(task, &tool);
        let Some((_, step)) = self.step_of(task) else {
            return;
        };
        let retry = step.retry;
        let terms = CallTerms {
            lane,
            alone: step.company == Concurrency::Alone,
            approval: outcome_unknown || (approval && !agreed),
            attempts: retry
                .map_or(self.options.attempts, |retry| retry.attempts)
                .get(),
            retry_pause: retry
                .and_then(|retry| retry.delay)
                .unwrap_or(self.options.retry_delay),
            // A step with its own limit is bound by that alone.
            attempt_timeout: match step.timeout {
                Some(_) => None,
                None => self.options.attempt_timeout,
            },
            step_timeout,
            // Consent covers one call, so a call that may have happened is not repeated under it.
            retry_uncertain: !approval || tool.is_repeatable(),
        };
        self.notify(Event::Prepared(task, Prepared::Call(terms)));
    }

    fn fail_before_call(&mut self, task: TaskId, error: ToolError) {
        if let Some(data) = self.task_data_mut(task) {
            data.pending_outcome = Some(Box::new(Outcome::failed(error)));
        }
        self.notify(Event::Prepared(task, Prepared::Done));
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
        if let Err(error) = room.and_then(|()| self.write_value(&args)) {
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
        self.notify(Event::Sealed(task));
    }
}

/// The number of fields in the initial slots of a plan.
fn fields_of(plan: &CheckedPlan, arguments: &Object) -> usize {
    let contents = plan.plan().contents.iter();
    let contents = contents.filter_map(|content| content.value.as_object());
    let contents: usize = contents.map(Object::len).sum();
    // Inputs have slots of their own; those that are variables have two.
    arguments.len() + plan.inputs().len() + plan.plan().inputs.len() + contents
}
