//! The commands of the scheduler that a run has not executed yet, and the time slices in which it executes them.
//!
//! Design: [Computation is divided into time slices](https://github.com/planwright/planwright/blob/main/docs/design/execution.md#computation-is-divided-into-time-slices).

use planwright_core::Tool;

use crate::schedule::{
    ConcurrencyLimits, LaneId, Scheduler, SchedulerCommand, SchedulerEvent, TaskId,
};

/// The number of taken commands from which on their memory is reused while others are queued.
const MAX_TAKEN: usize = 1024;

/// The number of cheap commands between two checks of the clock.
const SLICE_COMMANDS: u64 = 16;

/// The amount of work that a run does in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeSlice {
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
pub(super) struct CommandQueue {
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
    pub(super) fn new(limits: ConcurrencyLimits) -> Self {
        Self {
            scheduler: Scheduler::new(limits),
            commands: Vec::new(),
            next: 0,
            slice: TimeSlice::All,
            taken: 0,
            paused: false,
        }
    }

    pub(super) fn set_slice(&mut self, slice: TimeSlice) {
        self.slice = slice;
    }

    /// Returns true if an expensive command ends the time slice.
    pub(super) fn has_short_slices(&self) -> bool {
        self.slice == TimeSlice::Short
    }

    /// The scheduler, for questions about the state of tasks.
    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Adds a task, as a part of `owner` if there is one. It does not start yet.
    pub(super) fn add(&mut self, owner: Option<TaskId>, rank: u64) -> TaskId {
        // No command follows: the task starts only once all tasks of its batch are known, because waits may lead forward.
        self.scheduler.add(owner, rank)
    }

    /// The lane of a tool, which bounds its concurrent calls.
    pub(super) fn lane(&mut self, tool: &Tool) -> LaneId {
        self.scheduler.lane(&tool.server, &tool.name)
    }

    /// Passes an event to the scheduler and queues its commands.
    pub(super) fn notify(&mut self, event: SchedulerEvent) {
        self.scheduler.handle(event, &mut self.commands);
    }

    /// Starts a task with the tasks that it waits for.
    pub(super) fn start(&mut self, task: TaskId, waits: &[TaskId]) {
        self.scheduler.start(task, waits, &mut self.commands);
    }

    /// Starts whatever is ready and returns the number of new commands.
    pub(super) fn start_ready(&mut self) -> usize {
        let before = self.commands.len();
        self.scheduler.start_ready(&mut self.commands);
        self.commands.len() - before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.commands.len()
    }

    /// The next command, which then counts as taken.
    pub(super) fn take(&mut self) -> Option<SchedulerCommand> {
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
    pub(super) fn end_of_slice(&self) -> u64 {
        match self.slice {
            TimeSlice::All => u64::MAX,
            TimeSlice::Short => self.taken.saturating_add(SLICE_COMMANDS),
            TimeSlice::Until(end) => end,
        }
    }

    /// Returns true if a command is queued and the time slice that ends at `end` is not over.
    pub(super) fn has_next_before(&self, end: u64) -> bool {
        self.taken < end && !self.is_empty()
    }

    /// Restarts the count of taken commands at an input. Inputs during a pause belong to the position of the pause.
    pub(super) fn input_arrived(&mut self) {
        if !self.paused {
            self.taken = 0;
        }
    }

    /// Pauses the execution and returns the number of commands taken since the last input.
    pub(super) fn pause(&mut self) -> u64 {
        self.paused = true;
        // The inputs that follow count from the position of the pause.
        std::mem::take(&mut self.taken)
    }

    pub(super) fn resume(&mut self) {
        self.paused = false;
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }
}
