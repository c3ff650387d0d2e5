//! What will happen, as far as durations tell: jobs in virtual time, through the same scheduler that runs plans.
//!
//! Nothing here waits or calls. [`simulate()`](crate::forecast::simulate()) drives the [scheduler](crate::schedule) with a clock that jumps from one
//! end to the next, [`foresee`](crate::forecast::foresee) finds an order that ends early, [`Bounds`](crate::forecast::Bounds) say how early any order could end.

mod bounds;
mod jobs;
mod order;
mod search;
mod simulate;

pub use bounds::Bounds;
pub use jobs::{Job, JobId, Jobs};
pub use order::{Foresight, Found, foresee, longest_paths};
pub use simulate::{Order, Timeline, simulate};

#[cfg(test)]
mod tests;
