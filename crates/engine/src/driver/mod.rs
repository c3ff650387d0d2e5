//! The driver: the loop that feeds calls, timers, decisions and commands of the caller into a run.

mod drive;
mod handle;
mod in_flight;
mod journal_gate;
mod timers;

pub(crate) use drive::Driver;
pub use handle::{Canceller, RunHandle, SpawnRequest, StartError};
