//! The state machine of the scheduler: its tasks, their attempts and their ends.

mod attempts;
mod machine;
mod tasks;

pub use machine::Scheduler;
