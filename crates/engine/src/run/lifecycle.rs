//! The lifecycle of a run: the completeness of its plan, the reasons for an early end, the commands of the scheduler
//! that it has not executed yet, and the time slices in which it executes them.
//!
//! Design: [Computation is divided into time slices](https://github.com/planwright/planwright/blob/main/docs/design/execution.md#computation-is-divided-into-time-slices).

use std::collections::VecDeque;

use planwright_core::StepId;

use crate::backend::ToolError;
use crate::options::PlanState;
use crate::schedule::{Event, Scheduler, SchedulerCommand, TaskId};

/// The completeness of the plan and the reasons why a run ends early.
#[derive(Debug)]
pub(super) struct Lifecycle {
    /// True while steps may be added.
    open: bool,
    /// True while the plan is provisional, so only steps without effects may start.
    provisional: bool,
    cancelled: bool,
    stuck: bool,
    time_limit_error: Option<ToolError>,
    /// The step whose failure stopped the run.
    stopped_by: Option<StepId>,
}

impl Lifecycle {
    pub(super) fn new(plan: PlanState) -> Self {
        Self {
            open: plan != PlanState::Complete,
            provisional: plan == PlanState::Provisional,
            cancelled: false,
            stuck: false,
            time_limit_error: None,
            stopped_by: None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn is_provisional(&self) -> bool {
        self.provisional
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    pub(super) fn time_limit_error(&self) -> Option<&ToolError> {
        self.time_limit_error.as_ref()
    }

    pub(super) fn stopped_by(&self) -> Option<&StepId> {
        self.stopped_by.as_ref()
    }

    /// Records that no further steps follow.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Makes a provisional plan definite. Returns false if it already was.
    pub(super) fn accept_plan(&mut self) -> bool {
        std::mem::take(&mut self.provisional)
    }

    pub(super) fn cancel(&mut self) {
        // A cancelled run accepts no further steps: an open one would wait for them and never end.
        self.cancelled = true;
        self.open = false;
    }

    pub(super) fn end_as_stuck(&mut self) {
        self.stuck = true;
    }

    pub(super) fn end_by_time_limit(&mut self, error: Option<ToolError>) {
        self.time_limit_error = error;
        self.open = false;
    }

    /// Records the first step whose failure stops the run.
    pub(super) fn stop_after(&mut self, step: Option<StepId>) {
        // Calls that are still in flight may fail later, but the first failure is the one that stopped the run.
        if self.stopped_by.is_none() {
            self.stopped_by = step;
        }
    }
}

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

/// The queue of commands that the scheduler has issued.
#[derive(Debug)]
pub(super) struct CommandQueue {
    commands: VecDeque<SchedulerCommand>,
    /// A reused buffer for the output of the scheduler.
    scratch: Vec<SchedulerCommand>,
    slice: TimeSlice,
    /// The number of commands taken since the last input. A replay counts the same, so it can pause at the same place.
    taken: u64,
    /// True while the run is paused to apply inputs that arrived during a computation.
    paused: bool,
}

impl CommandQueue {
    pub(super) fn new() -> Self {
        Self {
            commands: VecDeque::new(),
            scratch: Vec::new(),
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

    /// Passes an event to the scheduler and queues its commands.
    pub(super) fn notify(&mut self, scheduler: &mut Scheduler, event: Event) {
        scheduler.handle(event, &mut self.scratch);
        self.commands.extend(self.scratch.drain(..));
    }

    /// Starts a task with the tasks that it waits for.
    pub(super) fn start(&mut self, scheduler: &mut Scheduler, task: TaskId, waits: &[TaskId]) {
        scheduler.start(task, waits, &mut self.scratch);
        self.commands.extend(self.scratch.drain(..));
    }

    /// Starts whatever is ready and returns the number of new commands.
    pub(super) fn start_ready(&mut self, scheduler: &mut Scheduler) -> usize {
        scheduler.start_ready(&mut self.scratch);
        let count = self.scratch.len();
        self.commands.extend(self.scratch.drain(..));
        count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The next command, which then counts as taken.
    pub(super) fn take(&mut self) -> Option<SchedulerCommand> {
        let command = self.commands.pop_front()?;
        self.taken += 1;
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
        std::mem::take(&mut self.taken)
    }

    pub(super) fn resume(&mut self) {
        self.paused = false;
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }
}
