//! The search for an order of jobs with known durations and the dependencies of a graph.

use std::num::NonZeroUsize;
use std::sync::Arc;

use planwright_engine::forecast::{Job, Jobs, OptimizedOrder, optimize_order};
use planwright_engine::schedule::ConcurrencyLimits;

use crate::shape::Shape;

/// The number of concurrent jobs.
const WIDTH: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// Creates `count` jobs that take from 50 to 500 milliseconds each.
pub fn jobs(shape: Shape, count: u32) -> Jobs {
    let mut jobs = Jobs::new();
    let lane = jobs.lane(&"server".into(), &Arc::from("tool"));
    for (id, waits) in (0_u64..).zip(shape.waits(count)) {
        // Multiples of a number near the golden ratio spread evenly, and no two are equal.
        let takes = 50_000 + id.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 450_000;
        let job = Job {
            takes,
            lane: Some(lane),
            is_exclusive: false,
        };
        jobs.add(job, waits);
    }
    jobs
}

/// Searches for an order, as the engine does before it starts such a plan.
pub fn look_ahead(jobs: &Jobs) -> OptimizedOrder {
    let limits = ConcurrencyLimits {
        total: WIDTH,
        ..ConcurrencyLimits::default()
    };
    optimize_order(jobs, &limits)
}
