//! What keeps a run from running away: how much it may call, how long, how fast.
//!
//! As pure as the scheduler: time comes in from outside. Each attempt at a call is counted before it is sent, so calls that
//! go on together cannot take more than there is.

mod budgets;
mod fingerprint;
mod guards;
mod rate;
mod refusal;
mod size;
mod written;

pub use guards::{Bound, Guards};
pub use rate::Rate;
pub use written::WrittenMeter;

pub(crate) use budgets::Guard;
pub(crate) use written::{MAX_LEVELS, WrittenBudget, written_bytes};

#[cfg(test)]
mod tests;
