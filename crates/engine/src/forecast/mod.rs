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
pub(crate) use order::FORESEEN_JOBS;
pub use order::{Foresight, Found, foresee, is_foreseen, longest_paths, order_of_run};
pub use simulate::{Order, Timeline, simulate};

#[cfg(test)]
mod tests;
