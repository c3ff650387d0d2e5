//! The driver: the loop that feeds calls, timers, decisions and commands of the caller into a run.

mod drive;
mod handle;
mod in_flight;
mod journal_gate;
mod shared_durations;
mod spawn_request;
mod timers;

pub(crate) use drive::Driver;
pub use handle::{Canceller, RunHandle};
pub(crate) use shared_durations::SharedDurations;
pub use spawn_request::{SpawnRequest, StartError};
