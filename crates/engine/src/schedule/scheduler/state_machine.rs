//! The state machine of the scheduler, and the queue of its commands that a run has not executed yet, with the time slices in which it
//! executes them.
//!
//! Design: [Computation is divided into time slices](https://github.com/planwright/planwright/blob/main/docs/design/execution.md#computation-is-divided-into-time-slices).

use std::sync::Arc;

use indexmap::IndexSet;
use planwright_core::{Hashing, ServerName, Tool};

use super::tasks::TaskFlag;
use super::tasks::{Task, Tasks};
use crate::schedule::ready::{ConcurrencyLimits, ReadySet};
use crate::schedule::task::{
    CallTerms, LaneId, Prepared, SchedulerCommand, SchedulerEvent, SettledBy, TaskId, TaskState,
    Timer,
};

/// The number of taken commands from which on their memory is reused while others are queued.
const MAX_TAKEN: usize = 1024;

/// The number of cheap commands between two checks of the clock.
const SLICE_COMMANDS: u64 = 16;

/// A pure scheduler: no clock, no randomness, no waiting. See the [module](crate::schedule).
#[derive(Debug, Default)]
pub struct Scheduler {
    pub(super) tasks: Tasks,
    /// The distinct call terms; most tasks share theirs with many others.
    terms: IndexSet<CallTerms, Hashing>,
    latest_terms: usize,
    pub(super) ready: ReadySet,
    /// A reused buffer for tasks that a settled one makes ready.
    pub(super) free: Vec<TaskId>,
    pub(super) stopping: bool,
    pub(super) unsettled: usize,
    running: usize,
    pausing: usize,
    asking: usize,
}

impl Scheduler {
    /// Creates a scheduler without tasks.
    pub fn new(limits: ConcurrencyLimits) -> Self {
        Self {
            ready: ReadySet::new(limits),
            ..Self::default()
        }
    }

    /// The lane for calls of `tool` at `server`.
    pub fn lane(&mut self, server: &ServerName, tool: &Arc<str>) -> LaneId {
        self.ready.lane(server, tool)
    }

    /// The id of the next task.
    pub fn next_id(&self) -> TaskId {
        self.tasks.next_id()
    }

    /// Adds a task that waits for others, which may be added later if their ids are known. `rank` is its longest
    /// remaining path, see [`ranks`](super::super::ranks). Call [`start`](Self::start) once all tasks of a batch are
    /// added.
    pub fn add(&mut self, parent: Option<TaskId>, rank: u64) -> TaskId {
        let id = self.tasks.add(parent);
        self.ready.add(rank);
        self.unsettled += 1;
        id
    }

    /// Makes `task` wait for `on`, and requests its preparation once nothing is left to wait for.
    pub fn start(&mut self, task: TaskId, on: &[TaskId], out: &mut Vec<SchedulerCommand>) {
        // A stopped scope settles new tasks at once.
        if self.is_stopped(task) {
            self.settle(task, SettledBy::Stop, out);
            return;
        }
        self.wait_for(task, on, out);
    }

    /// Applies an event and appends the resulting commands.
    pub fn handle(&mut self, event: SchedulerEvent, out: &mut Vec<SchedulerCommand>) {
        match event {
            SchedulerEvent::Prepared(task, prepared) => self.prepared(task, prepared, out),
            SchedulerEvent::AttemptEnded { task, attempt, end } => {
                self.attempt_ended(task, attempt, end, SettledBy::Attempt, out);
            }
            SchedulerEvent::Postponed {
                task,
                attempt,
                pause,
            } => self.postponed(task, attempt, pause, out),
            SchedulerEvent::Approved(task) => {
                // The task may have been stopped while a person decided.
                if self.state(task) == TaskState::AwaitingApproval {
                    self.enqueue(task, out);
                }
            }
            SchedulerEvent::Rejected(task) => {
                if self.state(task) == TaskState::AwaitingApproval {
                    self.settle(task, SettledBy::Rejection, out);
                }
            }
            SchedulerEvent::TimerFired(task, timer) => self.timer_fired(task, timer, out),
            SchedulerEvent::Sealed(task) => {
                if let Some(group) = self.task_mut(task) {
                    group.set_flag(TaskFlag::Sealed);
                }
                // The last child may have settled before the group was sealed.
                self.close_if_done(task, out);
            }
            SchedulerEvent::Closed(task) => self.settle(task, SettledBy::Itself, out),
            SchedulerEvent::Stop(scope) => self.stop(scope, out),
            SchedulerEvent::Cancel => self.end_all(None, SettledBy::Cancel, out),
        }
    }

    /// The state of a task.
    pub fn state(&self, task: TaskId) -> TaskState {
        self.tasks.state(task)
    }

    /// The longest remaining path of a task.
    pub fn rank(&self, task: TaskId) -> u64 {
        self.ready.rank(task)
    }

    /// Changes the rank of a task. A queued one keeps its position.
    pub fn rank_as(&mut self, task: TaskId, rank: u64) {
        let queued = self.state(task) == TaskState::Ready;
        let terms = self
            .terms_of(task)
            // Exclusive tasks wait in a separate queue, outside the lanes.
            .filter(|terms| queued && !terms.is_exclusive);
        let lane = terms.map(|terms| terms.lane);
        self.ready.rank_as(task, rank, lane);
    }

    /// The current attempt of a task; 0 before the first.
    pub fn attempt(&self, task: TaskId) -> u32 {
        self.task(task).map_or(0, Task::attempt)
    }

    /// Returns true if every task has settled.
    pub fn is_done(&self) -> bool {
        self.unsettled == 0
    }

    /// Returns true if nothing can happen before a person decides.
    pub fn waits_for_people(&self) -> bool {
        self.asking > 0 && self.running == 0 && self.pausing == 0 && self.ready.queued() == 0
    }

    /// Returns true if tasks are left that can never start. A checked plan never gets there.
    pub fn is_stuck(&self) -> bool {
        self.unsettled > 0
            && self.asking == 0
            && self.running == 0
            && self.pausing == 0
            && self.ready.queued() == 0
    }

    pub(super) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    pub(super) fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id)
    }

    /// The terms of a task's call, if it makes one.
    pub(super) fn terms_of(&self, id: TaskId) -> Option<&CallTerms> {
        self.terms.get_index(self.task(id)?.terms()?)
    }

    /// The index of `terms` in the table. They are mostly those of the call before.
    fn terms_index(&mut self, terms: CallTerms) -> usize {
        if self.terms.get_index(self.latest_terms) != Some(&terms) {
            self.latest_terms = self.terms.insert_full(terms).0;
        }
        self.latest_terms
    }

    /// Returns true if `task` is `scope` or inside of it.
    pub(crate) fn is_within(&self, task: TaskId, scope: TaskId) -> bool {
        let parent = |id: &TaskId| self.tasks.tree().parent(*id);
        std::iter::successors(Some(task), parent).any(|id| id == scope)
    }

    /// Returns true if the task is in a scope that starts nothing new.
    pub fn is_stopped(&self, task: TaskId) -> bool {
        let mut at = Some(task);
        while let Some(id) = at {
            if self
                .task(id)
                .is_some_and(|task| task.has_flag(TaskFlag::Stopping))
            {
                return true;
            }
            at = self.tasks.tree().parent(id);
        }
        self.stopping
    }

    /// Changes the state of a task. All changes go through here, so the counts stay right.
    pub(super) fn enter(&mut self, id: TaskId, state: TaskState) {
        let Some(old) = self.tasks.enter(id, state) else {
            return;
        };
        for (count, counted) in [
            (&mut self.running, TaskState::Running),
            (&mut self.pausing, TaskState::Backoff),
            (&mut self.asking, TaskState::AwaitingApproval),
        ] {
            if old == counted {
                *count = count.saturating_sub(1);
            }
            if state == counted {
                *count += 1;
            }
        }
    }

    pub(super) fn wait_for(
        &mut self,
        task: TaskId,
        on: &[TaskId],
        out: &mut Vec<SchedulerCommand>,
    ) {
        if self.tasks.wait(task, on) == 0 {
            self.enter(task, TaskState::Preparing);
            out.push(SchedulerCommand::Prepare(task));
        } else {
            self.enter(task, TaskState::Waiting);
        }
    }

    fn prepared(&mut self, task: TaskId, prepared: Prepared, out: &mut Vec<SchedulerCommand>) {
        // The task may have been stopped before the run has prepared it.
        if self.state(task) != TaskState::Preparing {
            return;
        }
        match prepared {
            Prepared::WaitFor(on) => self.wait_for(task, &on, out),
            Prepared::Done => self.settle(task, SettledBy::Itself, out),
            Prepared::Call(terms) => {
                let approval = terms.approval;
                let place = self.terms_index(terms);
                if let Some(entry) = self.task_mut(task) {
                    entry.set_terms(Some(place));
                }
                if approval {
                    self.enter(task, TaskState::AwaitingApproval);
                    out.push(SchedulerCommand::Ask(task));
                } else {
                    self.enqueue(task, out);
                }
            }
            Prepared::Group(timeout) => {
                self.enter(task, TaskState::Group);
                self.set_step_timer(task, timeout, out);
            }
        }
    }

    pub(super) fn enqueue(&mut self, task: TaskId, out: &mut Vec<SchedulerCommand>) {
        // The scope may have been stopped while a person was asked or a retry was pending.
        if self.is_stopped(task) {
            self.settle(task, SettledBy::Stop, out);
            return;
        }
        let Some(terms) = self.terms_of(task) else {
            return;
        };
        let (lane, is_exclusive) = (terms.lane, terms.is_exclusive);
        self.enter(task, TaskState::Ready);
        self.ready.push(task, lane, is_exclusive);
    }

    /// Starts whatever the limits allow. Call it once all events have been applied and every [`SchedulerCommand::Prepare`] was
    /// answered: only then is the best task known.
    pub fn start_ready(&mut self, out: &mut Vec<SchedulerCommand>) {
        loop {
            // The queue may still hold tasks that were stopped after they had become ready.
            let tasks = &self.tasks;
            let is_live = |id: TaskId| tasks.state(id) == TaskState::Ready;
            let Some(id) = self.ready.pop(&is_live) else {
                return;
            };
            self.prefetch(id);
            self.enter(id, TaskState::Running);
            let Some(task) = self.task_mut(id) else {
                return;
            };
            let attempt = task.attempt() + 1;
            task.set_attempt(attempt);
            let (attempt_timeout, step_timeout) = self.terms_of(id).map_or((None, None), |terms| {
                (terms.attempt_timeout, terms.step_timeout)
            });
            out.push(SchedulerCommand::Call { task: id, attempt });
            if let Some(after) = attempt_timeout {
                out.push(SchedulerCommand::SetTimer {
                    task: id,
                    timer: Timer::Attempt(attempt),
                    after,
                });
            }
            self.set_step_timer(id, step_timeout, out);
        }
    }

    /// Prefetches tasks that will soon start, when `started` does.
    fn prefetch(&mut self, started: TaskId) {
        let places = self.ready.prefetch_range(started);
        if !places.is_empty() {
            let order = self.ready.order();
            let place = |task| order.place(task).unwrap_or(0);
            self.tasks.prefetch_data(order.tasks_at(places), place);
        }
    }
}

/// The amount of work that a run does in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeSlice {
    /// All work that is pending.
    All,
    /// A few commands, or one expensive one, so the driver can check the clock.
    Short,
    /// Work until this many commands have been executed since the last input.
    Until(u64),
}

/// The scheduler, with the queue of its commands that the run has not executed yet. The scheduler changes only through this queue, so
/// no command is lost.
#[derive(Debug)]
pub(crate) struct CommandQueue {
    scheduler: Scheduler,
    /// The commands, in a list because the scheduler appends to it directly. The first `next` ones are taken.
    commands: Vec<SchedulerCommand>,
    next: usize,
    slice: TimeSlice,
    /// The number of commands taken since the last input. A replay counts the same, so it can pause at the same place.
    taken: u64,
    /// True while the run is paused to apply inputs that arrived during a computation.
    paused: bool,
}

impl CommandQueue {
    pub(crate) fn new(limits: ConcurrencyLimits) -> Self {
        Self {
            scheduler: Scheduler::new(limits),
            commands: Vec::new(),
            next: 0,
            slice: TimeSlice::All,
            taken: 0,
            paused: false,
        }
    }

    pub(crate) fn set_slice(&mut self, slice: TimeSlice) {
        self.slice = slice;
    }

    /// Returns true if an expensive command ends the time slice.
    pub(crate) fn has_short_slices(&self) -> bool {
        self.slice == TimeSlice::Short
    }

    /// The scheduler, for questions about the state of tasks.
    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Adds a task, as a part of `owner` if there is one. It does not start yet.
    pub(crate) fn add(&mut self, owner: Option<TaskId>, rank: u64) -> TaskId {
        // No command follows: the task starts only once all tasks of its batch are known, because waits may lead forward.
        self.scheduler.add(owner, rank)
    }

    /// The lane of a tool, which bounds its concurrent calls.
    pub(crate) fn lane(&mut self, tool: &Tool) -> LaneId {
        self.scheduler.lane(&tool.server, &tool.name)
    }

    /// Passes an event to the scheduler and queues its commands.
    pub(crate) fn notify(&mut self, event: SchedulerEvent) {
        self.scheduler.handle(event, &mut self.commands);
    }

    /// Starts a task with the tasks that it waits for.
    pub(crate) fn start(&mut self, task: TaskId, waits: &[TaskId]) {
        self.scheduler.start(task, waits, &mut self.commands);
    }

    /// Starts whatever is ready and returns the number of new commands.
    pub(crate) fn start_ready(&mut self) -> usize {
        let before = self.commands.len();
        self.scheduler.start_ready(&mut self.commands);
        self.commands.len() - before
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.commands.len()
    }

    /// The next command, which then counts as taken.
    pub(crate) fn take(&mut self) -> Option<SchedulerCommand> {
        // First in, first out: a replay relies on the order in which the scheduler decided.
        let command = *self.commands.get(self.next)?;
        self.next += 1;
        self.taken += 1;
        if self.is_empty() {
            self.commands.clear();
            self.next = 0;
        } else if self.next >= MAX_TAKEN && self.next > self.commands.len() / 2 {
            // More commands are dropped than moved, so each is moved once on average.
            self.commands.drain(..self.next);
            self.next = 0;
        }
        Some(command)
    }

    /// The number of taken commands at which the time slice that begins now ends.
    pub(crate) fn end_of_slice(&self) -> u64 {
        match self.slice {
            TimeSlice::All => u64::MAX,
            TimeSlice::Short => self.taken.saturating_add(SLICE_COMMANDS),
            TimeSlice::Until(end) => end,
        }
    }

    /// Returns true if a command is queued and the time slice that ends at `end` is not over.
    pub(crate) fn has_next_before(&self, end: u64) -> bool {
        self.taken < end && !self.is_empty()
    }

    /// Restarts the count of taken commands at an input. Inputs during a pause belong to the position of the pause.
    pub(crate) fn input_arrived(&mut self) {
        if !self.paused {
            self.taken = 0;
        }
    }

    /// Pauses the execution and returns the number of commands taken since the last input.
    pub(crate) fn pause(&mut self) -> u64 {
        self.paused = true;
        // The inputs that follow count from the position of the pause.
        std::mem::take(&mut self.taken)
    }

    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }
}
