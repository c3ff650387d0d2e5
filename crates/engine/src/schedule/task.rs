//! Events and commands of the scheduler.

use std::time::Duration;

use planwright_core::plan::RetryPolicy;

/// The id of a task: a step, an item of a loop, a round of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// The concurrency lane of one tool, or of all tools without limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneId(pub(super) u32);

impl LaneId {
    /// The lane of all tools without limits.
    pub(super) const FREE: Self = Self(u32::MAX);
}

/// An event for the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerEvent {
    /// The answer to [`SchedulerCommand::Prepare`].
    Prepared(TaskId, Prepared),
    /// An attempt has ended.
    AttemptEnded {
        /// The task.
        task: TaskId,
        /// The number of the attempt.
        attempt: u32,
        /// The end of the attempt.
        end: AttemptEnd,
    },
    /// The call is postponed: it releases its slot and is tried again after this pause. The attempt has not begun.
    Postponed {
        /// The task.
        task: TaskId,
        /// The attempt that was to be made.
        attempt: u32,
        /// The pause from now.
        pause: Duration,
    },
    /// A person has agreed to the call.
    Approved(TaskId),
    /// A person has rejected the call.
    Rejected(TaskId),
    /// A timer has expired.
    TimerFired(TaskId, Timer),
    /// A group is complete: no further children are added.
    Sealed(TaskId),
    /// The answer to [`SchedulerCommand::Close`]: the group has ended.
    Closed(TaskId),
    /// No new task may start below this task, or in the whole run if it is `None`.
    Stop(Option<TaskId>),
    /// The run is cancelled.
    Cancel,
}

/// A command of the scheduler to its driver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchedulerCommand {
    /// All tasks that it waited for have settled: determine its action, answer with [`SchedulerEvent::Prepared`].
    Prepare(TaskId),
    /// Ask a person to approve the call.
    Ask(TaskId),
    /// Make the call.
    Call {
        /// The task.
        task: TaskId,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// Abort an attempt in flight. Its end is ignored.
    Abort {
        /// The task.
        task: TaskId,
        /// The number of the attempt.
        attempt: u32,
    },
    /// The attempt failed; another one follows after this pause.
    RetryLater {
        /// The task.
        task: TaskId,
        /// The attempt that failed.
        attempt: u32,
        /// The pause.
        pause: Duration,
    },
    /// Send [`SchedulerEvent::TimerFired`] after this time. A later command for the same task and timer replaces it.
    SetTimer {
        /// The task.
        task: TaskId,
        /// The timer.
        timer: Timer,
        /// The time from now.
        after: Duration,
    },
    /// Clear this timer.
    ClearTimer(TaskId, Timer),
    /// A child of this group has settled: add more children, or seal the group.
    ChildSettled {
        /// The group.
        group: TaskId,
        /// The child.
        child: TaskId,
    },
    /// The group is sealed and its last child has settled: compute its outcome, then send [`SchedulerEvent::Closed`].
    Close(TaskId),
    /// The task has settled.
    Settled(TaskId, SettledBy),
}

/// The next action of a task that waits for no other task any more.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// The task needs these tasks to settle first.
    WaitFor(Vec<TaskId>),
    /// The task is done without a call: a value, a skip, an early failure.
    Done,
    /// The task makes a call.
    Call(CallTerms),
    /// The task is a group, whose children are added next. The time is the limit of the whole group.
    Group(Option<Duration>),
}

/// The terms of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallTerms {
    /// The lane whose limits it counts for.
    pub lane: LaneId,
    /// True if no other call may run at the same time.
    pub is_exclusive: bool,
    /// True if a person must agree first.
    pub approval: bool,
    /// The retry policy. Its number of attempts is limited to `PackedState::LAST_ATTEMPT`.
    pub retry: RetryPolicy,
    /// The time limit of one attempt.
    pub attempt_timeout: Option<Duration>,
    /// The time limit of the task, including all attempts and pauses.
    pub step_timeout: Option<Duration>,
    /// True if another attempt is allowed after one with an unknown outcome.
    pub retry_uncertain: bool,
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The answer is final.
    Final,
    /// The attempt failed and may be retried, after at least this pause.
    Retryable(Duration),
    /// The attempt failed, and the call may have happened.
    Uncertain,
}

/// The timers of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The time limit of this attempt.
    Attempt(u32),
    /// The pause after this attempt.
    Pause(u32),
    /// The time limit of the whole task.
    Step,
    /// The time limit of the whole run, which the scheduler ignores.
    Run,
}

/// The reason why a task has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledBy {
    /// The task ended without its own call: by its preparation, or as a group.
    Itself,
    /// The last attempt has ended.
    Attempt,
    /// The last attempt exceeded its time limit.
    AttemptTimeout,
    /// The task exceeded the time limit of the whole task.
    StepTimeout,
    /// A person rejected the call.
    Rejection,
    /// The scope of the task was stopped.
    Stop,
    /// The run was cancelled, or its group exceeded its time limit.
    Cancel,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// A task that it waits for has not settled.
    Waiting,
    /// The preparation was requested.
    Preparing,
    /// A person was asked for approval.
    AwaitingApproval,
    /// The task starts as soon as the limits allow.
    Ready,
    /// An attempt is in flight.
    Running,
    /// The task pauses before the next attempt.
    Backoff,
    /// The children of the task are running.
    Group,
    /// The task has ended.
    Settled,
}
