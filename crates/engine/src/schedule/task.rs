//! What goes into the scheduler and what comes out.

use std::time::Duration;

use super::ready::LaneId;

/// One task: a step, an item of a loop, a round of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// Something that happened outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The answer to [`Command::Prepare`].
    Prepared(TaskId, Prepared),
    /// An attempt has ended.
    AttemptEnded {
        /// The task.
        task: TaskId,
        /// Which attempt.
        attempt: u32,
        /// How.
        end: AttemptEnd,
    },
    /// The call that was to be made is not made yet: it gives its place back, and comes again after this pause. The attempt
    /// has not begun.
    Postponed {
        /// The task.
        task: TaskId,
        /// The attempt that was to be made.
        attempt: u32,
        /// How long from now.
        pause: Duration,
    },
    /// A person has agreed to the call.
    Approved(TaskId),
    /// A person has said no.
    Rejected(TaskId),
    /// A timer has run out.
    TimerFired(TaskId, Timer),
    /// No further children will be added to a group.
    Sealed(TaskId),
    /// The answer to [`Command::Close`]: the group is done.
    Closed(TaskId),
    /// Nothing new may start below this task, or anywhere where there is none.
    Stop(Option<TaskId>),
    /// Everything ends now.
    Cancel,
}

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// All that the task waited for has settled: say what it is to do.
    Prepare(TaskId),
    /// Ask a person whether the call may be made.
    Ask(TaskId),
    /// Make the call.
    Call {
        /// The task.
        task: TaskId,
        /// Which attempt this is, from 1.
        attempt: u32,
    },
    /// Give up an attempt that is under way. No end of it will be listened to.
    Abort {
        /// The task.
        task: TaskId,
        /// Which attempt.
        attempt: u32,
    },
    /// The attempt failed and there will be another after this pause.
    RetryLater {
        /// The task.
        task: TaskId,
        /// The attempt that failed.
        attempt: u32,
        /// The pause.
        pause: Duration,
    },
    /// Wake the scheduler with [`Event::TimerFired`] after this time. A later one of the same task and timer replaces it.
    SetTimer {
        /// The task.
        task: TaskId,
        /// Which of its timers.
        timer: Timer,
        /// How long from now.
        after: Duration,
    },
    /// The timer is no longer of interest.
    ClearTimer(TaskId, Timer),
    /// A child of this group has settled: more children may be added, or the group sealed.
    ChildSettled {
        /// The group.
        group: TaskId,
        /// The child.
        child: TaskId,
    },
    /// The group is sealed and its last child has settled: work out what it gives, then send [`Event::Closed`].
    Close(TaskId),
    /// The task has ended for good.
    Settled(TaskId, SettledBy),
}

/// What a task turned out to be, once all that it waits for has settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// It needs still more to be settled before it can say.
    WaitFor(Vec<TaskId>),
    /// It is done already: a value, a skip, a failure before any call.
    Done,
    /// It makes a call.
    Call(CallTerms),
    /// It is a group: its children are added next. The time is what it may take as a whole.
    Group(Option<Duration>),
}

/// The terms on which a call is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallTerms {
    /// Which limits it counts against.
    pub lane: LaneId,
    /// Whether nothing else may be under way at the same time.
    pub alone: bool,
    /// Whether a person must agree first.
    pub approval: bool,
    /// Attempts in all; more than 67,108,863 count as that many.
    pub attempts: u32,
    /// The pause before the second attempt; it doubles from there, up to a minute, and varies by up to a fifth.
    pub retry_pause: Duration,
    /// The time that one attempt may take.
    pub attempt_timeout: Option<Duration>,
    /// The time that the task may take, all attempts and pauses included.
    pub step_timeout: Option<Duration>,
    /// Whether another attempt is right after one of which nobody knows whether it happened.
    pub retry_uncertain: bool,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// With an answer that settles the task.
    Final,
    /// With a failure that another attempt may mend, after at least this pause.
    Retryable(Duration),
    /// With a failure of which nobody knows whether the call happened.
    Uncertain,
}

/// Which of a task's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The time that this attempt may take.
    Attempt(u32),
    /// The pause after this attempt.
    Pause(u32),
    /// The time that the whole task may take.
    Step,
    /// The time that the whole run may take: no task's, and none of the scheduler's business.
    Run,
}

/// Why a task has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledBy {
    /// It said so itself, when it was prepared or closed.
    Itself,
    /// Its last attempt has ended.
    Attempt,
    /// Its last attempt took too long.
    AttemptTimeout,
    /// It took too long as a whole.
    StepTimeout,
    /// A person said no.
    Rejection,
    /// Nothing new may start.
    Stop,
    /// The run was cancelled, or the group that it belongs to took too long.
    Cancel,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Something that it waits for has not settled.
    Waiting,
    /// It was asked what it is.
    Preparing,
    /// A person was asked.
    Asking,
    /// It may start as soon as the limits allow.
    Ready,
    /// An attempt is under way.
    Running,
    /// It pauses before the next attempt.
    Pausing,
    /// Its children are under way.
    Group,
    /// It has ended.
    Settled,
}
