//! The state machine of the scheduler: its tasks, their attempts and their ends.

mod attempts;
mod ending;
mod machine;
mod packed_state;
mod tasks;

pub use machine::Scheduler;
