//! Forecasts in virtual time: jobs that go through the same scheduler as real runs.
//!
//! Nothing here waits or calls. [`simulate()`](crate::forecast::simulate()) drives the [scheduler](crate::schedule)
//! with a clock that jumps from one end to the next, [`optimize_order`](crate::forecast::optimize_order) searches for an order with
//! a short makespan, and [`Bounds`](crate::forecast::Bounds) are lower bounds of the makespan over all orders.
//!
//! Design: [The order is tried in virtual time before a run](https://github.com/planwright/planwright/blob/main/docs/design/scheduling.md#the-order-is-tried-in-virtual-time-before-a-run).

mod optimize;
mod simulate;

pub use optimize::{
    Bounds, OptimizedOrder, OrderSource, is_worth_optimizing, longest_paths, optimize_order,
    run_order,
};
pub(crate) use optimize::{MAX_OPTIMIZED_JOBS, is_work_worth_optimizing};
pub use simulate::{Job, JobId, Jobs, StartOrder, Timeline, simulate};

#[cfg(test)]
mod tests;
