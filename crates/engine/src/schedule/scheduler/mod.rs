//! The state machine of the scheduler: its tasks, their attempts and their ends.

mod retry;
mod state_machine;
mod tasks;

pub use state_machine::Scheduler;
