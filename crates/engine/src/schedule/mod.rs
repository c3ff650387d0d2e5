//! The scheduler: a pure state machine, `(State, SchedulerEvent) -> Commands`.
//!
//! It knows tasks that wait for each other, limits, attempts, approvals and timers, but neither the work of a task nor
//! the time. Its driver (a loop, a replay, a test) passes events and executes the commands. A whole run takes
//! `O((tasks + waits) * log(tasks))`.
//!
//! Design: [Scheduling](https://github.com/planwright/planwright/blob/main/docs/design/scheduling.md).

mod queue;
mod ready;
mod scheduler;
mod task;
mod task_order;

pub use ready::ConcurrencyLimits;
pub use scheduler::Scheduler;
pub(crate) use scheduler::{CommandQueue, TimeSlice};
pub use task::{
    AttemptEnd, CallTerms, LaneId, Prepared, SchedulerCommand, SchedulerEvent, SettledBy, TaskId,
    TaskState, Timer,
};
pub use task_order::{UNIT, ranks};

#[cfg(test)]
mod tests;
