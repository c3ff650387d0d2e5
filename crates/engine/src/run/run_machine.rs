//! The run: the scheduler, the frames, and the rules that turn steps into tasks. It is as pure as the scheduler: the
//! driver passes inputs with their times and executes the effects.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::Step;
use planwright_core::{Object, Value};

use super::budgets::Budgets;
use super::calls::definition_digests::DefinitionDigests;
use super::calls::run_flow::RunFlow;
use super::effects::{Effect, RunInput};
use super::journaling::state::JournalState;
use super::lifecycle::Lifecycle;
use super::redaction::redactor::{Redactor, secret_inputs};
use super::report::cost_model::{CostModel, PlanPaths};
use super::tasks::task::{TaskData, TaskKind, TaskTable};
use super::values::resolve::{ReferenceScope, Warnings};
use super::values::slots::{Frame, Frames, Slots, shared_slots};
use crate::address::Address;
use crate::approval::Decision;
use crate::backend::CallProgress;
use crate::durations::Durations;
use crate::event::{RunEvent, StampedEvent};
use crate::id::RunId;
use crate::journal::Record;
use crate::options::RunOptions;
use crate::schedule::{
    CommandQueue, SchedulerCommand, SchedulerEvent, TaskId, TaskState, TimeSlice,
};

/// The maximum length of a message about progress, in bytes; the rest is cut.
const MAX_PROGRESS_MESSAGE: usize = 300;

/// A run in progress, without a clock and without IO.
#[derive(Debug)]
pub struct RunMachine {
    id: RunId,
    /// The time of the last input that had an effect. Only [`handle`](Self::handle) and a resumption set it.
    now: Duration,
    pub(super) options: RunOptions,
    pub(super) frames: Frames,
    pub(super) tasks: TaskTable,
    pub(super) lifecycle: Lifecycle,
    pub(super) budgets: Budgets,
    pub(super) journal: JournalState,
    pub(super) redactor: Redactor,
    pub(super) warnings: Warnings,
    pub(super) definitions: DefinitionDigests,
    pub(super) run_flow: RunFlow,
    /// True if the run has no listeners, so events need not be created.
    pub(super) no_listeners: bool,
    pub(super) queue: CommandQueue,
}

impl RunMachine {
    /// Creates a run of `plan` without starting it.
    pub fn new(id: RunId, plan: CheckedPlan, options: RunOptions) -> Self {
        let secrets = secret_inputs(&plan)
            .into_iter()
            .chain(options.masked_texts());
        let mut run = Self {
            id,
            frames: Frames::new(shared_slots(&plan)),
            tasks: TaskTable::default(),
            warnings: Warnings::default(),
            lifecycle: Lifecycle::new(options.plan_state),
            budgets: Budgets::new(&plan, &options),
            journal: JournalState::default(),
            redactor: Redactor::new(secrets),
            definitions: DefinitionDigests::default(),
            run_flow: RunFlow::default(),
            now: Duration::ZERO,
            no_listeners: false,
            queue: CommandQueue::new(options.limits.clone()),
            options,
        };
        let inputs = Value::from(plan.inputs().clone());
        // Before anything runs: a function may return an input, which must not count as its output.
        run.exclude_from_sources(&inputs);
        run.instantiate_roots(plan);
        run.budgets.add_steps(run.tasks.len());
        run
    }

    /// Lets [`proceed`](Self::proceed) return after a time slice although there is [more to do](Self::is_busy), so the
    /// run can be [paused](Self::pause) while it computes.
    #[must_use]
    pub fn with_time_slices(mut self) -> Self {
        self.queue.set_slice(TimeSlice::Short);
        self
    }

    /// Starts the run.
    pub fn start(&mut self, effects: &mut Vec<Effect>) {
        if let Some(frame) = self.frames.get(0) {
            let plan = frame.plan.clone();
            self.emit(effects, || RunEvent::RunStarted {
                run: self.id.clone(),
                plan: plan.plan().name.clone(),
                digest: plan.digest().clone(),
                steps: plan.steps().len(),
            });
        }
        self.start_run_timer(effects);
        for frame in self.frames.root_indices() {
            self.start_steps(frame, 0);
        }
        self.execute_commands(effects);
    }

    /// Applies an input that happened at `now`, counted from the start of the run. Call [`proceed`](Self::proceed)
    /// once all inputs of about the same time have been applied.
    pub fn handle(&mut self, input: RunInput, now: Duration, effects: &mut Vec<Effect>) {
        // Decisions get this time, and a replay has recorded inputs only.
        if self.has_effect(&input) {
            self.now = now;
        }
        self.queue.input_arrived();
        match input {
            RunInput::AttemptEnded {
                task,
                attempt,
                result,
            } => self.attempt_ended(task, attempt, result, effects),
            RunInput::Decided { task, decision } => self.decided(task, decision, effects),
            RunInput::TimerFired(task, timer) => self.timer_fired(task, timer, effects),
            RunInput::Extend(plan) => {
                self.record(effects, || {
                    Some(Record::Extended {
                        digest: plan.digest().clone(),
                        steps: plan.steps().len(),
                    })
                });
                self.extend(plan, effects);
            }
            // A second close has no effect and is not recorded.
            RunInput::Close => {
                if self.lifecycle.is_open() {
                    self.record(effects, || Some(Record::Closed));
                }
                self.lifecycle.close();
                self.start_deferred();
            }
            // A second request has no effect and is not recorded.
            RunInput::Drain => {
                if !self.lifecycle.is_draining() {
                    self.record(effects, || Some(Record::Draining));
                    self.emit(effects, || RunEvent::RunDraining);
                    self.lifecycle.drain();
                    self.queue.notify(SchedulerEvent::Stop(None));
                }
            }
            RunInput::Cancel => {
                self.record(effects, || Some(Record::Cancelled));
                self.lifecycle.cancel();
                self.queue.notify(SchedulerEvent::Cancel);
            }
            RunInput::EndAsStuck => {
                self.lifecycle.end_as_stuck();
                self.queue.notify(SchedulerEvent::Cancel);
            }
        }
        self.execute_commands(effects);
    }

    /// Returns true if `input` has an effect. Inputs without one are not recorded, so no recorded time may depend on
    /// them.
    fn has_effect(&self, input: &RunInput) -> bool {
        match input {
            RunInput::AttemptEnded { task, attempt, .. } => self.is_in_flight(*task, *attempt),
            RunInput::Decided { task, decision } => {
                *decision != Decision::Later
                    && self.queue.scheduler().state(*task) == TaskState::AwaitingApproval
            }
            RunInput::Close => self.lifecycle.is_open(),
            RunInput::Drain => !self.lifecycle.is_draining(),
            RunInput::TimerFired(..)
            | RunInput::Extend(_)
            | RunInput::Cancel
            | RunInput::EndAsStuck => true,
        }
    }

    /// Continues the work and starts whatever is ready once all its results are known. There may be [more to
    /// do](Self::is_busy) afterwards.
    pub fn proceed(&mut self, effects: &mut Vec<Effect>) {
        loop {
            self.execute_commands(effects);
            if self.is_busy() {
                // The time slice is over. Calls start only when all results are known, since a later one may free a better task.
                return;
            }
            let calls = self.queue.start_ready();
            if calls == 0 {
                return;
            }
            // All these calls start before anything else can end them. A call that the guard does not admit gives its
            // slot to another.
            for _ in 0..calls {
                self.execute_next(effects);
            }
        }
    }

    /// Returns true if there is more to do without further input.
    pub fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sets that the run has no listeners, so it need not create events.
    pub fn set_no_listeners(&mut self, no_listeners: bool) {
        self.no_listeners = no_listeners;
    }

    /// Sets the amount of work that is done in one call.
    pub(super) fn set_time_slice(&mut self, slice: TimeSlice) {
        self.queue.set_slice(slice);
    }

    /// Returns true if the run is [paused](Self::pause).
    pub(crate) fn is_paused(&self) -> bool {
        self.queue.is_paused()
    }

    /// Interrupts the work, so that inputs can be applied that have arrived meanwhile. The position in the work is
    /// recorded, since a replay must make the same decisions.
    pub fn pause(&mut self, effects: &mut Vec<Effect>) {
        let after = self.queue.pause();
        self.record(effects, || Some(Record::Paused { after }));
    }

    /// Resumes the interrupted work. Call [`proceed`](Self::proceed) afterwards.
    pub fn resume_work(&mut self, effects: &mut Vec<Effect>) {
        self.record(effects, || Some(Record::Resumed));
        self.queue.resume();
    }

    /// Returns true if the run has ended.
    pub fn is_done(&self) -> bool {
        self.queue.scheduler().is_done() && !self.lifecycle.is_open()
    }

    /// Returns true if the plan is still provisional.
    pub fn is_provisional(&self) -> bool {
        self.lifecycle.is_provisional()
    }

    /// Returns true if nothing can happen before a person decides. A run whose plan may grow can always receive steps.
    pub fn waits_for_people(&self) -> bool {
        self.queue.scheduler().waits_for_people() && !self.lifecycle.is_open()
    }

    /// Returns true if tasks are left that can never start. That would be an internal defect: the run fails instead of
    /// waiting forever.
    pub fn is_stuck(&self) -> bool {
        self.queue.scheduler().is_stuck() && !self.lifecycle.is_open() && !self.is_busy()
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The time of the last input that had an effect, since the start of the run.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Returns true if `task` is `scope` or inside of it.
    pub fn is_within(&self, task: TaskId, scope: TaskId) -> bool {
        self.queue.scheduler().is_within(task, scope)
    }

    /// The time limit of one attempt.
    pub(crate) fn attempt_timeout(&self) -> Option<Duration> {
        self.options.attempt_timeout
    }

    /// The call durations known to the run.
    pub(crate) fn durations(&self) -> &Durations {
        &self.options.durations
    }

    /// The current plan.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.frames.get(0).map(|frame| &frame.plan)
    }

    /// Executes the commands of the scheduler: all of them, or a time slice.
    pub(crate) fn execute_commands(&mut self, effects: &mut Vec<Effect>) {
        if self.queue.is_paused() {
            return;
        }
        let end = self.queue.end_of_slice();
        while self.queue.has_next_before(end) {
            self.execute_next(effects);
            // An expression can take as long as many commands, so the driver reads the clock after each one.
            if self.budgets.memory.take_slow() && self.queue.has_short_slices() {
                return;
            }
        }
    }

    fn execute_next(&mut self, effects: &mut Vec<Effect>) {
        let Some(command) = self.queue.take() else {
            return;
        };
        match command {
            SchedulerCommand::Prepare(task) => self.prepare(task, effects),
            SchedulerCommand::Ask(task) => self.ask(task, effects),
            SchedulerCommand::Call { task, attempt } => self.call(task, attempt, effects),
            SchedulerCommand::Abort { task, attempt } => self.abort(task, attempt, effects),
            SchedulerCommand::RetryLater {
                task,
                attempt,
                pause,
            } => {
                if let Some(at) = self.address(task) {
                    self.emit(effects, || RunEvent::RetryScheduled { at, attempt, pause });
                }
            }
            SchedulerCommand::SetTimer { task, timer, after } => {
                effects.push(Effect::SetTimer { task, timer, after });
            }
            SchedulerCommand::ClearTimer(task, timer) => {
                effects.push(Effect::ClearTimer(task, timer));
            }
            SchedulerCommand::ChildSettled { group, .. } => self.next_part(group),
            SchedulerCommand::Close(task) => self.close_group(task),
            SchedulerCommand::Settled(task, by) => self.complete_task(task, by, effects),
        }
    }

    /// Continues the clock of an earlier process, which stopped at `now`.
    pub(super) fn continue_at(&mut self, now: Duration) {
        self.now = now;
    }

    /// Emits the progress that the tool of a call in flight has reported. It decides nothing, so it is not an input.
    pub(crate) fn emit_progress(
        &self,
        task: TaskId,
        progress: CallProgress,
        now: Duration,
        effects: &mut Vec<Effect>,
    ) {
        let Some(data) = self.task_data(task) else {
            return;
        };
        let Some(tool) = &data.tool else {
            return;
        };
        let message = progress.message.as_deref();
        let message = message.map(|text| self.redactor.cut(text, MAX_PROGRESS_MESSAGE).into());
        let event = RunEvent::CallProgress {
            at: Arc::clone(&data.address),
            tool: Arc::clone(&tool.name),
            progress: CallProgress {
                message,
                ..progress
            },
        };
        effects.push(Effect::Emit(Box::new(StampedEvent { at: now, event })));
    }

    pub(super) fn task_data(&self, task: TaskId) -> Option<&TaskData> {
        self.tasks.get(task)
    }

    pub(super) fn task_data_mut(&mut self, task: TaskId) -> Option<&mut TaskData> {
        self.tasks.get_mut(task)
    }

    pub(super) fn address(&self, task: TaskId) -> Option<Arc<Address>> {
        self.task_data(task).map(|data| Arc::clone(&data.address))
    }

    /// The frame and the step of a task.
    pub(super) fn step_of(&self, task: TaskId) -> Option<(&Frame, &Step)> {
        let data = self.task_data(task)?;
        let frame = self.frames.get(data.frame)?;
        let step = frame.plan.plan().steps.get(data.step as usize)?;
        Some((frame, step))
    }

    /// The values that the references of a task can read.
    pub(super) fn scope<'a>(&'a self, data: &'a TaskData, frame: &'a Frame) -> ReferenceScope<'a> {
        let iteration = data.iteration.as_deref();
        ReferenceScope {
            frame,
            item: iteration.and_then(|iteration| iteration.item.as_ref()),
            index: iteration.map(|iteration| iteration.index),
            last: iteration.and_then(|iteration| iteration.last.as_ref()),
            own_outcome: None,
            secret_values: &self.options.secret_values,
            limits: &self.options.evaluation,
            warnings: &self.warnings,
            memory: &self.budgets.memory,
        }
    }
}

impl RunMachine {
    fn instantiate_roots(&mut self, plan: CheckedPlan) {
        let instances = plan.plan().instances.clone();
        if instances.is_empty() {
            self.instantiate(plan, None, None, &Object::default(), None);
        } else {
            for instance in instances {
                let shared = Some(Arc::clone(self.frames.shared_slots()));
                self.instantiate(
                    plan.clone(),
                    None,
                    Some(instance),
                    &Object::default(),
                    shared,
                );
            }
        }
        self.frames.end_roots();
    }

    /// Adds a plan's steps as tasks, without starting them.
    pub(super) fn instantiate(
        &mut self,
        plan: CheckedPlan,
        owner: Option<TaskId>,
        instance: Option<Arc<str>>,
        arguments: &Object,
        shared: Option<Arc<Slots>>,
    ) -> usize {
        let frame = Frame::new(plan, owner, instance, arguments, shared);
        let frame = self.frames.push(frame);
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
        // The path after the step that runs this plan also follows each of its steps.
        let base = owner
            .and_then(|owner| self.task_data(owner))
            .map_or(0, |owner| owner.path_after);
        let paths = self.plan_paths(&plan, owner, first);
        let at = |list: &[u64], offset: usize| {
            let own = list.get(offset - first).copied().unwrap_or(0);
            own.saturating_add(base)
        };
        let more = plan.plan().steps.len().saturating_sub(first);
        // Most steps make one call.
        self.tasks.reserve(more);
        for (offset, step) in plan.plan().steps.iter().enumerate().skip(first) {
            let mut task = None;
            // Steps of other instances have no task in this frame.
            if step.instance.is_none() || step.instance == instance {
                let id = self.queue.add(owner, at(&paths.ranks, offset));
                let address = Arc::new(Address {
                    inside: owner.and_then(|owner| self.address(owner)),
                    instance: instance.clone(),
                    step: step.id.clone(),
                    item: None,
                    round: None,
                });
                let index = u32::try_from(offset).unwrap_or(u32::MAX);
                let mut data = TaskData::new(frame_index, index, TaskKind::Step, address);
                data.path_after = at(&paths.after, offset);
                self.tasks.push(data);
                if let Some(owner) = owner.and_then(|owner| self.task_data_mut(owner)) {
                    owner.parts.push(id);
                }
                task = Some(id);
            }
            // Both lists have an entry for every step, so that the index of a step is valid in them.
            if let Some(frame) = self.frames.get_mut(frame_index) {
                frame.tasks.push(task);
                frame.outcomes.push(None);
            }
        }
    }

    /// The longest remaining paths of the steps from `first` on, by the current durations. Only the order of the run's
    /// own plan is optimized; inner plans and further steps must fit in with what is running.
    fn plan_paths(&self, plan: &CheckedPlan, owner: Option<TaskId>, first: usize) -> PlanPaths {
        let mut costs = CostModel::new(&self.options.durations, &self.options.limits);
        let is_whole = first == 0 && owner.is_none() && plan.plan().instances.is_empty();
        if is_whole {
            costs.optimized_paths(plan)
        } else {
            costs.paths(plan, first)
        }
    }

    /// Starts the steps of a frame from `first` on, each with the steps that it waits for.
    pub(super) fn start_steps(&mut self, frame_index: usize, first: usize) {
        let Some(frame) = self.frames.get(frame_index) else {
            return;
        };
        let plan = frame.plan.clone();
        let tasks = frame.tasks.clone();
        // Deferred steps are checked again, since the plan may be definite now.
        let steps = frame.deferred.iter().copied().chain(first..tasks.len());
        // The steps of an inner plan may start because its step was allowed to.
        let is_open = |step: &usize| {
            !self.lifecycle.is_provisional()
                || frame.owner.is_some()
                || plan.can_start_speculatively(*step)
        };
        let (open, deferred): (Vec<usize>, Vec<usize>) = steps.partition(is_open);
        if let Some(frame) = self.frames.get_mut(frame_index) {
            frame.deferred = deferred;
        }
        let mut waits: Vec<TaskId> = Vec::new();
        for step in open {
            let (Some(checked), Some(Some(task))) = (plan.steps().get(step), tasks.get(step))
            else {
                continue;
            };
            let on = checked.initial_dependencies.iter();
            waits.clear();
            waits.extend(on.filter_map(|on| *tasks.get(*on as usize)?));
            self.queue.start(*task, &waits);
        }
    }

    /// Starts the steps that waited for the plan to be complete.
    pub(super) fn start_deferred(&mut self) {
        if !self.lifecycle.accept_plan() {
            return;
        }
        for frame in self.frames.root_indices() {
            let steps = self.frames.get(frame).map_or(0, |frame| frame.tasks.len());
            self.start_steps(frame, steps);
        }
    }

    pub(super) fn extend(&mut self, plan: CheckedPlan, effects: &mut Vec<Effect>) {
        for index in self.frames.root_indices() {
            let Some(frame) = self.frames.get_mut(index) else {
                return;
            };
            let first = frame.tasks.len();
            frame.plan = plan.clone();
            // Steps of the plan itself always run: they are counted, but not refused.
            let before = self.tasks.len();
            self.add_steps(index, first);
            self.budgets.add_steps(self.tasks.len() - before);
            self.start_steps(index, first);
        }
        self.restate_labels();
        let steps = plan.steps().len();
        self.emit(effects, || RunEvent::PlanExtended { steps });
    }
}
