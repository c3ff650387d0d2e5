//! The scheduler: a pure state machine, `(State, Event) -> Commands`.
//!
//! It knows tasks that wait for each other, limits, attempts, approvals and timers; it knows neither what a task does
//! nor what time it is. Whoever drives it (a loop, a replay, a test) hands in what happened and carries out what it asks for.
//! A whole run costs `O((tasks + waits) * log(tasks))`.

mod ahead;
mod marks;
mod order;
mod queue;
mod rank;
mod ready;
mod scheduler;
mod task;

pub use rank::{UNIT, ranks};
pub use ready::{LaneId, Limits};
pub use scheduler::Scheduler;
pub use task::{
    AttemptEnd, CallTerms, Command, Event, Prepared, SettledBy, TaskId, TaskState, Timer,
};

#[cfg(test)]
mod tests;
