//! What a task turns out to be, once all that it waits for has settled.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Action, Company, Name, Node, OnError, PlanTarget, Source, Step};
use planwright_core::schema::Type;
use planwright_core::{Object, Tool, Value};

use super::bind::{Scope, Unbound};
use super::effect::Effect;
use super::frame::Frame;
use super::outcome::{Because, Outcome, SkipReason, StepStatus};
use super::pace::Pace;
use super::remember::Before;
use super::slots::Slots;
use super::state::Run;
use super::work::{Group, Layer, Work};
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::schedule::{CallTerms, Event, Prepared, TaskId, TaskState};

/// How many items of a loop without a limit of its own may have begun. It bounds memory, not parallelism, which the
/// limits on calls bound.
const WINDOW: usize = 1024;

/// What a task is to do next.
enum Next {
    Wait(Vec<u32>),
    Done(Outcome),
    Items(Arc<Vec<Value>>),
    Rounds(u64),
    Call(Value),
    Plan(Value),
}

impl From<Unbound> for Next {
    fn from(unbound: Unbound) -> Self {
        match unbound {
            Unbound::Wait(on) => Self::Wait(on),
            Unbound::Skip(reason) => Self::Done(Outcome::skipped(reason)),
            Unbound::Missing(error) | Unbound::Fail(error) => Self::Done(Outcome::failed(error)),
        }
    }
}

impl Run {
    pub(super) fn prepare(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        if self.scheduler.state(task) != TaskState::Preparing {
            return;
        }
        let next = match self.chosen(task, effects) {
            Some(outcome) => Next::Done(outcome),
            None => self.next(task),
        };
        match next {
            Next::Wait(on) => {
                let tasks: Vec<TaskId> = self
                    .step_of(task)
                    .map(|(frame, _)| on.iter().filter_map(|step| frame.task(*step)).collect())
                    .unwrap_or_default();
                self.tell(Event::Prepared(task, Prepared::WaitFor(tasks)));
            }
            Next::Done(mut outcome) => {
                if outcome.status == StepStatus::Failed
                    && let Some(before) = self.answered_before(task)
                {
                    let tool = self.tool_of(task);
                    if let Some(work) = self.work_mut(task) {
                        work.tool = tool;
                    }
                    outcome = before;
                }
                if outcome.status == StepStatus::Succeeded {
                    self.begin(task, effects);
                }
                if let Some(work) = self.work_mut(task) {
                    work.pending = Some(Box::new(outcome));
                }
                self.tell(Event::Prepared(task, Prepared::Done));
            }
            Next::Items(_) | Next::Rounds(_) | Next::Plan(_)
                if let Some(error) = self.timed_out_before(task) =>
            {
                self.fail_before_call(task, error);
            }
            Next::Items(items) => {
                if let Err(error) = self.promise(items.len()) {
                    return self.fail_before_call(task, error);
                }
                let max = self
                    .step_of(task)
                    .and_then(|(_, step)| step.for_each.as_ref()?.max_parallel);
                let window = max.map_or(WINDOW, |max| max.get() as usize);
                // One more than there are: with that the group is sealed.
                let window = window.min(items.len().saturating_add(1));
                let (each, together) = self.pace_of_items(task);
                let group = Group::Items {
                    items,
                    next: 0,
                    each,
                    together,
                };
                self.open_group(task, group, effects);
                for _ in 0..window {
                    self.next_part(task);
                }
            }
            Next::Rounds(max) => {
                if let Err(error) = self.promise(1) {
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
            Next::Call(args) => self.prepare_call(task, args, effects),
            Next::Plan(args) => self.open_plan(task, args, effects),
        }
    }

    /// How long one item of a loop is expected to take, and how many may be under way together.
    fn pace_of_items(&self, task: TaskId) -> (u64, u64) {
        let mut pace = Pace::new(&self.options.durations, &self.options.limits);
        self.step_of(task)
            .and_then(|(frame, step)| {
                let checked = frame.plan.steps().get(self.work(task)?.step as usize)?;
                Some((pace.action(step, checked), pace.together(step, checked)))
            })
            .unwrap_or((0, 1))
    }

    fn open_group(&mut self, task: TaskId, group: Group, effects: &mut Vec<Effect>) {
        if let Some(work) = self.work_mut(task) {
            work.group = Some(Box::new(group));
        }
        self.begin(task, effects);
        let timeout = self.step_timeout(task);
        self.tell(Event::Prepared(task, Prepared::Group(timeout)));
    }

    /// The time that a task may take: only a whole step has one, not its items and rounds.
    fn step_timeout(&self, task: TaskId) -> Option<std::time::Duration> {
        let layer = self.work(task)?.layer;
        let (_, step) = self.step_of(task)?;
        match layer {
            Layer::Step => step.timeout.or(self.options.step_timeout),
            Layer::Item | Layer::Round => None,
        }
    }

    fn tool_of(&self, task: TaskId) -> Option<Arc<Tool>> {
        let work = self.work(task)?;
        let frame = self.frames.get(work.frame)?;
        frame.plan.steps().get(work.step as usize)?.tool.clone()
    }

    fn prepare_call(&mut self, task: TaskId, args: Value, effects: &mut Vec<Effect>) {
        let Some(tool) = self.tool_of(task) else {
            let error = ToolError::new(ErrorKind::Internal, "the step has no tool");
            return self.fail_before_call(task, error);
        };
        if let Some(work) = self.work_mut(task) {
            work.tool = Some(Arc::clone(&tool));
            work.args = Some(args.clone());
        }
        // Only what is yet to be called needs arguments that it can be called with.
        let before = self.before(task, &tool, &args);
        if matches!(before, Before::Nothing | Before::Approved(_))
            && let Err(error) = self.check_args(task, &args)
        {
            return self.fail_before_call(task, error);
        }
        if matches!(before, Before::Nothing | Before::Approved(_))
            && let Err(error) = self.write_call(&args)
        {
            // They are not shown, either.
            if let Some(work) = self.work_mut(task) {
                work.args = None;
            }
            return self.fail_before_call(task, error);
        }
        let mut agreed = false;
        match before {
            Before::Nothing => {}
            Before::Ended(outcome) => {
                self.begin(task, effects);
                if let Some(work) = self.work_mut(task) {
                    work.pending = Some(Box::new(outcome));
                }
                return self.tell(Event::Prepared(task, Prepared::Done));
            }
            Before::Approved(changed) => {
                // Arguments that could not be called with then cannot now: whoever wrote them is asked again.
                let changed = changed.map(|changed| self.with_own_secrets(task, &changed));
                match changed {
                    None => agreed = true,
                    Some(Ok(args)) if self.check_args(task, &args).is_ok() => {
                        agreed = true;
                        if let Some(work) = self.work_mut(task) {
                            work.args = Some(args);
                        }
                    }
                    Some(_) => {}
                }
            }
            Before::InDoubt => {
                if let Some(work) = self.work_mut(task) {
                    work.in_doubt = true;
                }
            }
        }
        let in_doubt = self.work(task).is_some_and(|work| work.in_doubt);
        let step_timeout = self.step_timeout(task);
        let lane = self.scheduler.lane(&tool.server, &tool.name);
        let approval = self.needs_consent(task, &tool);
        let Some((_, step)) = self.step_of(task) else {
            return;
        };
        let retry = step.retry;
        let terms = CallTerms {
            lane,
            alone: step.company == Company::Alone,
            approval: in_doubt || (approval && !agreed),
            attempts: retry
                .map_or(self.options.attempts, |retry| retry.attempts)
                .get(),
            retry_pause: retry
                .and_then(|retry| retry.delay)
                .unwrap_or(self.options.retry_delay),
            // A step with a limit of its own is bound by that alone.
            attempt_timeout: match step.timeout {
                Some(_) => None,
                None => self.options.attempt_timeout,
            },
            step_timeout,
            retry_uncertain: !approval || tool.is_repeatable(),
        };
        self.tell(Event::Prepared(task, Prepared::Call(terms)));
    }

    fn fail_before_call(&mut self, task: TaskId, error: ToolError) {
        if let Some(work) = self.work_mut(task) {
            work.pending = Some(Box::new(Outcome::failed(error)));
        }
        self.tell(Event::Prepared(task, Prepared::Done));
    }

    fn open_plan(&mut self, task: TaskId, args: Value, effects: &mut Vec<Effect>) {
        let opened = self.work(task).and_then(|work| {
            let frame = self.frames.get(work.frame)?;
            let plan = frame.plan.steps().get(work.step as usize)?.plan.clone()?;
            let (_, step) = self.step_of(task)?;
            let scopes = match &step.action {
                Action::Plan(call) => call.scopes.clone(),
                _ => Vec::new(),
            };
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
        let given = args.as_object().unwrap_or(&none);
        let room = self.promise(plan.steps().len());
        let room = room.and_then(|()| self.made.add_parts(0, fields_of(&plan, given)));
        if let Err(error) = room.and_then(|()| self.write_value(&args)) {
            return self.fail_before_call(task, error);
        }
        let frame = self.frames.len();
        if let Some(work) = self.work_mut(task) {
            work.args = Some(args.clone());
        }
        self.open_group(task, Group::Plan { frame }, effects);
        self.open_frame(plan, Some(task), None, given, shared);
        self.start_steps(frame, 0);
        self.tell(Event::Sealed(task));
    }

    /// Looks at a task whose waits are over.
    fn next(&self, task: TaskId) -> Next {
        let internal = || {
            Next::Done(Outcome::failed(ToolError::new(
                ErrorKind::Internal,
                "an unknown task",
            )))
        };
        let Some(work) = self.work(task) else {
            return internal();
        };
        let Some((frame, step)) = self.step_of(task) else {
            return internal();
        };
        let scope = self.scope(work, frame);
        let looked = match work.layer {
            Layer::Step => Self::next_of_step(work, frame, step, &scope),
            Layer::Item => next_of_item(step, work.step, &scope),
            Layer::Round => next_of_action(step, frame, work.step, &scope),
        };
        looked.unwrap_or_else(Next::from)
    }

    fn next_of_step(
        work: &Work,
        frame: &Frame,
        step: &Step,
        scope: &Scope<'_>,
    ) -> Result<Next, Unbound> {
        if let Some(blocking) = step
            .after
            .iter()
            .find(|name| Self::blocks_after(frame, name))
        {
            let reason = SkipReason::new(Because::Step, Arc::clone(&blocking.text));
            return Ok(Next::Done(Outcome::skipped(reason)));
        }
        if needs_everything(step) {
            let open: Vec<u32> = frame
                .plan
                .steps()
                .get(work.step as usize)
                .into_iter()
                .flat_map(|checked| &checked.dependencies)
                .map(|dependency| dependency.on)
                .filter(|on| {
                    *on != work.step && frame.task(*on).is_some() && frame.outcome(*on).is_none()
                })
                .collect();
            if !open.is_empty() {
                return Ok(Next::Wait(open));
            }
        }
        if let Some(when) = &step.when
            && !is_per_item(step, when)
            && !holds(when, scope)?
        {
            return Ok(Next::Done(condition_failed(step)));
        }
        let Some(for_each) = &step.for_each else {
            return next_of_body(step, frame, work.step, scope);
        };
        match scope.node(&for_each.over, None)? {
            Value::List(items) => Ok(Next::Items(items)),
            other => Err(Unbound::Fail(ToolError::new(
                ErrorKind::Reference,
                format!("`for_each` needs a list, found a {}", other.kind()),
            ))),
        }
    }

    /// Whether a step that only has to come after `name` may run: not where a failure lies behind it.
    pub(super) fn blocks_after(frame: &Frame, name: &Name) -> bool {
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

/// How many fields the slots of a plan have before its first step.
fn fields_of(plan: &CheckedPlan, given: &Object) -> usize {
    let contents = plan.plan().contents.iter();
    let contents = contents.filter_map(|content| content.value.as_object());
    let contents: usize = contents.map(Object::len).sum();
    // Inputs stand in slots of their own, those that are variables in two.
    given.len() + plan.inputs().len() + plan.plan().inputs.len() + contents
}

fn next_of_item(step: &Step, index: u32, scope: &Scope<'_>) -> Result<Next, Unbound> {
    if let Some(when) = &step.when
        && is_per_item(step, when)
        && !holds(when, scope)?
    {
        return Ok(Next::Done(condition_failed(step)));
    }
    next_of_body(step, scope.frame, index, scope)
}

fn next_of_body(
    step: &Step,
    frame: &Frame,
    index: u32,
    scope: &Scope<'_>,
) -> Result<Next, Unbound> {
    match &step.repeat {
        Some(repeat) => Ok(Next::Rounds(u64::from(repeat.max.get()))),
        None => next_of_action(step, frame, index, scope),
    }
}

fn next_of_action(
    step: &Step,
    frame: &Frame,
    index: u32,
    scope: &Scope<'_>,
) -> Result<Next, Unbound> {
    match &step.action {
        Action::Value(node) => {
            let value = scope.node(node, None)?;
            Ok(Next::Done(Outcome::succeeded(Arc::new(ToolOutput::value(
                value,
            )))))
        }
        Action::Tool(_) => {
            let expected: Option<&Type> = frame
                .plan
                .steps()
                .get(index as usize)
                .and_then(|checked| checked.tool.as_ref())
                .map(|tool| tool.input.structure());
            let args = match scope.node(&step.args, expected)? {
                // No arguments were written.
                Value::Null if step.args.as_literal().is_some() => Value::empty_object(),
                args => args,
            };
            Ok(Next::Call(args))
        }
        Action::Plan(call) => {
            debug_assert!(matches!(
                call.target,
                PlanTarget::Named(_) | PlanTarget::Inline(_)
            ));
            Ok(Next::Plan(scope.node(&step.args, None)?))
        }
    }
}

/// Whether a condition is looked at for each item of the step's loop.
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

/// Whether a step refers to others at a time when it cannot wait for them any more.
fn needs_everything(step: &Step) -> bool {
    step.repeat.is_some()
        || matches!(&step.on_error, OnError::Output(node) if node.as_literal().is_none())
}

fn holds(condition: &Node, scope: &Scope<'_>) -> Result<bool, Unbound> {
    match scope.node(condition, None)? {
        Value::Bool(holds) => Ok(holds),
        other => Err(Unbound::Fail(ToolError::new(
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
        Because::Condition,
        Arc::clone(step.id.text()),
    ))
}
