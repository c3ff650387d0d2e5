//! The state machine of the scheduler: its tasks, their attempts and their ends, and its commands.

mod retry;
mod state_machine;
mod tasks;

pub use state_machine::Scheduler;
pub(crate) use state_machine::{CommandQueue, TimeSlice};
