//! The driver: the loop that feeds calls, timers, decisions and commands of the caller into a run.

mod drive;
mod gate;
mod handle;
mod in_flight;
mod timers;

pub(crate) use drive::Driver;
pub(crate) use gate::JournalGate;
pub use handle::{Canceller, RunHandle};
