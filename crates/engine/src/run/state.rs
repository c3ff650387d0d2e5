//! The run: the scheduler, the frames, and the rules that turn steps into tasks. As pure as the scheduler: time comes in
//! from outside, and whatever is to be done goes out.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::place::push_pointer_segment;
use planwright_core::plan::{Action, Name, OnFailure, Step};
use planwright_core::schema::SchemaFault;
use planwright_core::{Diagnostic, Object, StepId, Value};

use super::bind::Scope;
use super::effect::{Effect, Input};
use super::frame::{Frame, shared_slots};
use super::outcome::{Outcome, StepStatus};
use super::redact::Redactor;
use super::work::{CallRecord, Group, Layer, Work};
use crate::approval::{ApprovalRequest, Decision};
use crate::backend::{ErrorKind, RetryAdvice, ToolCall, ToolError, ToolOutput};
use crate::event::{Address, RunEvent, StampedEvent};
use crate::options::{Arrival, FailurePolicy, RunOptions};
use crate::schedule::{
    AttemptEnd, Command, Event, Scheduler, TaskId, TaskState, Timer, UNIT, ranks,
};

/// A run in progress, without clock and without IO.
#[derive(Debug)]
pub struct Run {
    pub(super) id: Arc<str>,
    pub(super) options: RunOptions,
    pub(super) scheduler: Scheduler,
    pub(super) frames: Vec<Frame>,
    /// How many of the frames are the run's own plan: one, or one for each instance.
    pub(super) roots: usize,
    pub(super) work: Vec<Work>,
    pub(super) calls: Vec<CallRecord>,
    pub(super) warnings: RefCell<Vec<Diagnostic>>,
    pub(super) shared: Arc<super::slots::Slots>,
    pub(super) growing: bool,
    pub(super) cancelled: bool,
    pub(super) given_up: bool,
    /// The step whose failure stopped the run.
    pub(super) stopped_by: Option<StepId>,
    pub(super) now: Duration,
    pub(super) redactor: Redactor,
    queue: VecDeque<Command>,
    scratch: Vec<Command>,
}

impl Run {
    /// A run of `plan`, not yet begun.
    pub fn new(id: impl Into<Arc<str>>, plan: CheckedPlan, options: RunOptions) -> Self {
        let secrets = secret_inputs(&plan).chain(options.secrets.iter().cloned());
        let redactor = Redactor::new(secrets);
        let mut run = Self {
            id: id.into(),
            scheduler: Scheduler::new(options.limits.clone()),
            growing: options.arrival == Arrival::Growing,
            options,
            frames: Vec::new(),
            roots: 0,
            work: Vec::new(),
            calls: Vec::new(),
            warnings: RefCell::new(Vec::new()),
            shared: Arc::new(shared_slots(&plan)),
            cancelled: false,
            given_up: false,
            stopped_by: None,
            now: Duration::ZERO,
            redactor,
            queue: VecDeque::new(),
            scratch: Vec::new(),
        };
        run.open_roots(plan);
        run
    }

    /// Begins.
    pub fn start(&mut self, effects: &mut Vec<Effect>) {
        if let Some(frame) = self.frames.first() {
            let plan = frame.plan.clone();
            self.emit(
                RunEvent::RunStarted {
                    run: Arc::clone(&self.id),
                    plan: plan.plan().name.clone(),
                    digest: Arc::from(plan.digest()),
                    steps: plan.steps().len(),
                },
                effects,
            );
        }
        for frame in 0..self.roots {
            self.start_steps(frame, 0);
        }
        self.drain(effects);
    }

    /// Takes in what happened at `now`, counted from the start of the run. Call [`proceed`](Self::proceed) when all that
    /// happened at about the same time was taken in.
    pub fn handle(&mut self, input: Input, now: Duration, effects: &mut Vec<Effect>) {
        self.now = now;
        match input {
            Input::AttemptEnded {
                task,
                attempt,
                result,
            } => self.attempt_ended(task, attempt, result, effects),
            Input::Decided { task, decision } => self.decided(task, decision, effects),
            Input::TimerFired(task, timer) => self.timer_fired(task, timer, effects),
            Input::Extend(plan) => self.extend(plan, effects),
            Input::Close => self.growing = false,
            Input::Cancel => {
                self.cancelled = true;
                self.tell(Event::Cancel);
            }
            Input::GiveUp => {
                self.given_up = true;
                self.tell(Event::Cancel);
            }
        }
        self.drain(effects);
    }

    /// Starts whatever may start now.
    pub fn proceed(&mut self, effects: &mut Vec<Effect>) {
        self.scheduler.start_ready(&mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
        self.drain(effects);
    }

    /// Whether the run has ended.
    pub fn is_done(&self) -> bool {
        self.scheduler.is_done() && !self.growing
    }

    /// Whether nothing can happen before a person decides.
    pub fn waits_for_people(&self) -> bool {
        self.scheduler.waits_for_people()
    }

    /// Whether nothing can ever happen any more though steps are left. It would be a defect of ours: the run then
    /// says so in place of waiting for ever.
    pub fn is_stuck(&self) -> bool {
        self.scheduler.is_stuck() && !self.growing
    }

    /// The run's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The plan as it is now.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.frames.first().map(|frame| &frame.plan)
    }

    /// Carries out all that the scheduler asks for, and tells it what comes of it.
    fn drain(&mut self, effects: &mut Vec<Effect>) {
        while let Some(command) = self.queue.pop_front() {
            match command {
                Command::Prepare(task) => self.prepare(task, effects),
                Command::Ask(task) => self.ask(task, effects),
                Command::Call { task, attempt } => self.call(task, attempt, effects),
                Command::Abort { task, attempt } => self.abort(task, attempt, effects),
                Command::RetryLater {
                    task,
                    attempt,
                    pause,
                } => {
                    if let Some(at) = self.address(task) {
                        self.emit(RunEvent::RetryScheduled { at, attempt, pause }, effects);
                    }
                }
                Command::SetTimer { task, timer, after } => {
                    effects.push(Effect::SetTimer { task, timer, after });
                }
                Command::ClearTimer(task, timer) => effects.push(Effect::ClearTimer(task, timer)),
                Command::ChildSettled { group, .. } => self.next_part(group),
                Command::Close(task) => self.close(task),
                Command::Settled(task, by) => self.settled(task, by, effects),
            }
        }
    }

    /// Tells the scheduler something; what it wants in return is carried out later, in order.
    pub(super) fn tell(&mut self, event: Event) {
        self.scheduler.handle(event, &mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
    }

    pub(super) fn emit(&self, mut event: RunEvent, effects: &mut Vec<Effect>) {
        self.redactor.event(&mut event);
        effects.push(Effect::Emit(StampedEvent {
            at: self.now,
            event,
        }));
    }

    pub(super) fn work(&self, task: TaskId) -> Option<&Work> {
        self.work.get(task.0 as usize)
    }

    pub(super) fn work_mut(&mut self, task: TaskId) -> Option<&mut Work> {
        self.work.get_mut(task.0 as usize)
    }

    pub(super) fn address(&self, task: TaskId) -> Option<Arc<Address>> {
        self.work(task).map(|work| Arc::clone(&work.address))
    }

    /// The frame and the step that a task belongs to.
    pub(super) fn step_of(&self, task: TaskId) -> Option<(&Frame, &Step)> {
        let work = self.work(task)?;
        let frame = self.frames.get(work.frame)?;
        let step = frame.plan.plan().steps.get(work.step as usize)?;
        Some((frame, step))
    }

    /// What the references of a task may look at.
    pub(super) fn scope<'a>(&'a self, work: &'a Work, frame: &'a Frame) -> Scope<'a> {
        Scope {
            frame,
            item: work.item.as_ref(),
            index: work.index,
            last: work.last.as_ref(),
            own: None,
            limits: &self.options.evaluation,
            warnings: &self.warnings,
        }
    }

    fn open_roots(&mut self, plan: CheckedPlan) {
        let instances = plan.plan().instances.clone();
        if instances.is_empty() {
            self.open_frame(plan, None, None, &Object::new(), None);
        } else {
            for instance in instances {
                let shared = Some(Arc::clone(&self.shared));
                self.open_frame(plan.clone(), None, Some(instance), &Object::new(), shared);
            }
        }
        self.roots = self.frames.len();
    }

    /// Adds a plan's steps as tasks, without starting them.
    pub(super) fn open_frame(
        &mut self,
        plan: CheckedPlan,
        owner: Option<TaskId>,
        instance: Option<Arc<str>>,
        given: &Object,
        shared: Option<Arc<super::slots::Slots>>,
    ) -> usize {
        let frame = self.frames.len();
        self.frames
            .push(Frame::new(plan, owner, instance, given, shared));
        self.add_steps(frame, 0);
        frame
    }

    /// Adds the steps of a frame from `first` on as tasks.
    fn add_steps(&mut self, frame_index: usize, first: usize) {
        let Some(frame) = self.frames.get(frame_index) else {
            return;
        };
        let plan = frame.plan.clone();
        let owner = frame.owner;
        let instance = frame.instance.clone();
        let base = owner.map_or(0, |_| UNIT);
        let ranks = Self::ranks_of(&plan, first);
        for (offset, step) in plan.plan().steps.iter().enumerate().skip(first) {
            let mut task = None;
            if step.instance.is_none() || step.instance == instance {
                let rank = ranks.get(offset - first).copied().unwrap_or(UNIT);
                let id = self.scheduler.add(owner, rank.saturating_add(base));
                let address = Arc::new(Address {
                    inside: owner.and_then(|owner| self.address(owner)),
                    instance: instance.clone(),
                    step: step.id.clone(),
                    item: None,
                    round: None,
                });
                self.work.push(Work::new(
                    frame_index,
                    u32::try_from(offset).unwrap_or(u32::MAX),
                    Layer::Step,
                    address,
                ));
                if let Some(owner) = owner.and_then(|owner| self.work_mut(owner)) {
                    owner.parts.push(id);
                }
                task = Some(id);
            }
            if let Some(frame) = self.frames.get_mut(frame_index) {
                frame.tasks.push(task);
                frame.outcomes.push(None);
            }
        }
    }

    /// The longest remaining path of each step from `first` on.
    fn ranks_of(plan: &CheckedPlan, first: usize) -> Vec<u64> {
        let steps = plan.steps().get(first..).unwrap_or_default();
        let weights: Vec<u64> = plan
            .plan()
            .steps
            .get(first..)
            .unwrap_or_default()
            .iter()
            .map(|step| match step.action {
                Action::Value(_) => 0,
                Action::Tool(_) | Action::Plan(_) => UNIT,
            })
            .collect();
        let waits: Vec<Vec<u32>> = steps
            .iter()
            .map(|step| {
                step.dependencies
                    .iter()
                    .filter_map(|dependency| {
                        (dependency.on as usize)
                            .checked_sub(first)
                            .and_then(|on| u32::try_from(on).ok())
                    })
                    .collect()
            })
            .collect();
        ranks(&weights, &waits)
    }

    /// Lets the steps of a frame from `first` on wait for each other.
    pub(super) fn start_steps(&mut self, frame_index: usize, first: usize) {
        let Some(frame) = self.frames.get(frame_index) else {
            return;
        };
        let plan = frame.plan.clone();
        let tasks = frame.tasks.clone();
        for (checked, task) in plan.steps().iter().zip(&tasks).skip(first) {
            let Some(task) = task else {
                continue;
            };
            let waits: Vec<TaskId> = checked
                .first_waits
                .iter()
                .filter_map(|on| *tasks.get(*on as usize)?)
                .collect();
            self.scheduler.start(*task, &waits, &mut self.scratch);
        }
        self.queue.extend(self.scratch.drain(..));
    }

    /// Lets a task that was just added wait for others.
    pub(super) fn start_task(&mut self, task: TaskId, waits: &[TaskId]) {
        self.scheduler.start(task, waits, &mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
    }

    fn extend(&mut self, plan: CheckedPlan, effects: &mut Vec<Effect>) {
        for index in 0..self.roots {
            let Some(frame) = self.frames.get_mut(index) else {
                return;
            };
            let first = frame.tasks.len();
            frame.plan = plan.clone();
            self.add_steps(index, first);
            self.start_steps(index, first);
        }
        let steps = plan.steps().len();
        self.emit(RunEvent::PlanExtended { steps }, effects);
    }

    fn ask(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let Some(work) = self.work(task) else {
            return;
        };
        let (Some(tool), Some(args)) = (work.tool.clone(), work.args.clone()) else {
            return;
        };
        let at = Arc::clone(&work.address);
        self.emit(
            RunEvent::ApprovalAsked {
                at: Arc::clone(&at),
                tool: Arc::clone(&tool.name),
                args: args.clone(),
            },
            effects,
        );
        let request = Box::new(ApprovalRequest { at, tool, args });
        effects.push(Effect::Ask { task, request });
    }

    fn decided(&mut self, task: TaskId, decision: Decision, effects: &mut Vec<Effect>) {
        if self.scheduler.state(task) != TaskState::Asking {
            return;
        }
        let Some(at) = self.address(task) else {
            return;
        };
        match decision {
            Decision::Later => {}
            Decision::Approve { args } => {
                self.emit(
                    RunEvent::ApprovalDecided {
                        at,
                        approved: true,
                        changed_args: args.clone(),
                    },
                    effects,
                );
                if let Some(args) = args {
                    if let Err(error) = self.check_args(task, &args) {
                        self.reject(task, error);
                        return;
                    }
                    if let Some(work) = self.work_mut(task) {
                        work.args = Some(args);
                    }
                }
                self.tell(Event::Approved(task));
            }
            Decision::Reject { because } => {
                self.emit(
                    RunEvent::ApprovalDecided {
                        at,
                        approved: false,
                        changed_args: None,
                    },
                    effects,
                );
                let message = because.map_or_else(
                    || "the call was rejected".to_owned(),
                    |because| format!("the call was rejected: {because}"),
                );
                self.reject(task, ToolError::new(ErrorKind::Approval, message));
            }
        }
    }

    fn reject(&mut self, task: TaskId, error: ToolError) {
        if let Some(work) = self.work_mut(task) {
            work.last_error = Some(error);
        }
        self.tell(Event::Rejected(task));
    }

    fn call(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        self.begin(task, effects);
        let run = Arc::clone(&self.id);
        let index = self.calls.len();
        let Some(work) = self.work_mut(task) else {
            return;
        };
        work.attempts = attempt;
        work.last_call = Some(index);
        let (Some(tool), Some(args)) = (work.tool.clone(), work.args.clone()) else {
            return;
        };
        let at = Arc::clone(&work.address);
        let call = Box::new(ToolCall {
            tool: Arc::clone(&tool),
            args: args.clone(),
            step: at.step.clone(),
            attempt,
            idempotency_key: Arc::from(format!("{run}/{at}")),
        });
        self.calls.push(CallRecord {
            task,
            attempt,
            args: args.clone(),
            error: None,
            ended: false,
        });
        let event = RunEvent::AttemptStarted {
            at,
            tool: Arc::clone(&tool.name),
            attempt,
            args,
        };
        self.emit(event, effects);
        effects.push(Effect::Call { task, call });
    }

    /// Notes that a task has begun.
    pub(super) fn begin(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(work) = self.work_mut(task) else {
            return;
        };
        if work.started.is_some() {
            return;
        }
        work.started = Some(now);
        let at = Arc::clone(&work.address);
        let tool = work.tool.as_ref().map(|tool| Arc::clone(&tool.name));
        let items = match &work.group {
            Some(Group::Items { items, .. }) => Some(items.len() as u64),
            _ => None,
        };
        self.emit(RunEvent::StepStarted { at, tool, items }, effects);
    }

    fn abort(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        effects.push(Effect::Abort(task));
        let error = ToolError::new(ErrorKind::Timeout, "the call was given up");
        self.note_end(task, attempt, Some(error), effects);
    }

    /// Notes how an attempt ended, for the report and for whoever watches.
    fn note_end(
        &mut self,
        task: TaskId,
        attempt: u32,
        error: Option<ToolError>,
        effects: &mut Vec<Effect>,
    ) {
        let index = self.work(task).and_then(|work| work.last_call);
        if let Some(record) = index.and_then(|index| self.calls.get_mut(index))
            && record.attempt == attempt
            && !record.ended
        {
            record.ended = true;
            record.error.clone_from(&error);
            if let Some(work) = self.work(task)
                && let Some(tool) = &work.tool
            {
                let event = RunEvent::AttemptEnded {
                    at: Arc::clone(&work.address),
                    tool: Arc::clone(&tool.name),
                    attempt,
                    error,
                };
                self.emit(event, effects);
            }
        }
    }

    fn attempt_ended(
        &mut self,
        task: TaskId,
        attempt: u32,
        result: Result<ToolOutput, ToolError>,
        effects: &mut Vec<Effect>,
    ) {
        if self.scheduler.state(task) != TaskState::Running
            || self.scheduler.attempt(task) != attempt
        {
            return;
        }
        self.note_end(task, attempt, result.as_ref().err().cloned(), effects);
        let end = match result {
            Ok(output) => {
                if let Some(work) = self.work_mut(task) {
                    work.pending = Some(Outcome::succeeded(Arc::new(output)));
                }
                AttemptEnd::Final
            }
            Err(error) => {
                let end = match error.retry {
                    RetryAdvice::Never => AttemptEnd::Final,
                    RetryAdvice::Uncertain => AttemptEnd::Uncertain,
                    RetryAdvice::Again => AttemptEnd::Retryable(Duration::ZERO),
                    RetryAdvice::After(pause) => AttemptEnd::Retryable(pause),
                };
                if let Some(work) = self.work_mut(task) {
                    work.last_error = Some(error);
                }
                end
            }
        };
        self.tell(Event::AttemptEnded { task, attempt, end });
    }

    fn timer_fired(&mut self, task: TaskId, timer: Timer, effects: &mut Vec<Effect>) {
        if let Timer::Attempt(attempt) = timer
            && self.scheduler.state(task) == TaskState::Running
            && self.scheduler.attempt(task) == attempt
        {
            let waited = self.options.attempt_timeout.unwrap_or_default();
            let error = ToolError::new(ErrorKind::Timeout, format!("no answer within {waited:?}"));
            self.note_end(task, attempt, Some(error.clone()), effects);
            if let Some(work) = self.work_mut(task) {
                work.last_error = Some(error);
            }
        }
        self.tell(Event::TimerFired(task, timer));
    }

    /// Ends what must not go on after the failure of `step` in `frame`.
    pub(super) fn failed(&mut self, frame_index: usize, step: u32) {
        let fail_fast = self.options.on_failure == FailurePolicy::Stop;
        let Some(frame) = self.frames.get_mut(frame_index) else {
            return;
        };
        if frame.failed.is_none() {
            frame.failed = Some(step);
        }
        if !fail_fast && frame.plan.plan().on_failure == OnFailure::KeepGoing {
            return;
        }
        let owner = frame.owner;
        let id = frame
            .plan
            .plan()
            .steps
            .get(step as usize)
            .map(|step| step.id.clone());
        if owner.is_none() && self.stopped_by.is_none() {
            self.stopped_by = id;
        }
        self.tell(Event::Stop(owner));
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
                StepStatus::NotRun | StepStatus::Cancelled | StepStatus::Waiting => true,
            },
            None => false,
        }
    }

    /// Whether arguments fit the tool's schema.
    pub(super) fn check_args(&self, task: TaskId, args: &Value) -> Result<(), ToolError> {
        let Some(tool) = self.work(task).and_then(|work| work.tool.as_ref()) else {
            return Ok(());
        };
        let faults = tool.input.validate(args);
        let Some(first) = faults.first() else {
            return Ok(());
        };
        let mut message = told(first);
        if faults.len() > 1 {
            let more = faults.len() - 1;
            message = format!("{message}, and {more} more of the kind");
        }
        let all = Value::list(faults.iter().map(|fault| Value::from(told(fault))));
        Err(ToolError::new(ErrorKind::Arguments, message)
            .with_data(Value::object([("faults", all)])))
    }
}

/// A fault with its place.
fn told(fault: &SchemaFault) -> String {
    let mut pointer = String::new();
    for segment in &fault.path {
        push_pointer_segment(&mut pointer, segment);
    }
    if pointer.is_empty() {
        fault.message.clone()
    } else {
        format!("{} at {pointer}", fault.message)
    }
}

/// The texts of inputs that their schema calls secret, with `writeOnly` or the format `password`.
fn secret_inputs(plan: &CheckedPlan) -> impl Iterator<Item = Arc<str>> {
    let is_secret = |schema: &Value| {
        schema.get("writeOnly").and_then(Value::as_bool) == Some(true)
            || schema.get("format").and_then(Value::as_text) == Some("password")
    };
    let secrets: Vec<Arc<str>> = plan
        .plan()
        .inputs
        .iter()
        .filter(|input| is_secret(&input.schema))
        .filter_map(|input| plan.inputs().get(&input.name)?.as_text().map(Arc::from))
        .collect();
    secrets.into_iter()
}
