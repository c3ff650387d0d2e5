//! Optimization of the order in which jobs start.

use std::num::NonZeroUsize;

use super::bounds::Bounds;
use super::jobs::Jobs;
use super::order_search::OrderSearch;
use super::simulate::{Order, Timeline, simulate};
use crate::schedule::{Limits, ranks};

/// The maximum number of jobs to optimize before a run. More jobs keep all slots busy in any order.
pub(crate) const MAX_OPTIMIZED_JOBS: usize = 10_000;

/// The optimization costs some microseconds per job, so the mean duration of a job must exceed this, in microseconds.
const MIN_MEAN_DURATION: u64 = 1_000;

/// The number of improvements from both ends. Beyond the third, hardly anything is gained.
const IMPROVEMENT_ROUNDS: u64 = 3;

/// The number of simulations before the search: longest path first, backwards and forwards in each round, first come.
const BEFORE_SEARCH: u64 = 2 + 2 * IMPROVEMENT_ROUNDS;

/// The best order found.
#[derive(Clone, Debug)]
pub struct Foresight {
    /// The rank of each job.
    pub ranks: Vec<u64>,
    /// The resulting timeline.
    pub timeline: Timeline,
    /// The method that found it.
    pub found: Found,
}

/// The method that found an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The longest remaining path goes first.
    LongestPath,
    /// The job that could start first goes first.
    FirstCome,
    /// The jobs were run backwards under the same limits: the job that has to start longest before the end goes first.
    Backwards,
    /// A local search that swaps jobs and simulates the result.
    Search,
}

/// The longest path from the start of each job to the end of all, in microseconds.
pub fn longest_paths(jobs: &Jobs) -> Vec<u64> {
    ranks(&jobs.times(), jobs.waits())
}

/// Returns true if a run of `jobs` optimizes its order before it begins, because it is worth the cost.
pub fn is_worth_optimizing(jobs: &Jobs) -> bool {
    let least = MIN_MEAN_DURATION.saturating_mul(u64::try_from(jobs.len()).unwrap_or(u64::MAX));
    jobs.len() <= MAX_OPTIMIZED_JOBS && Bounds::plain(jobs, NonZeroUsize::MIN).work >= least
}

/// The order of a run of `jobs`: optimized if that is worth the cost, otherwise longest path first.
pub fn order_of_run(jobs: &Jobs, limits: &Limits) -> Foresight {
    if is_worth_optimizing(jobs) {
        return foresee(jobs, limits);
    }
    Foresight::of(jobs, limits, longest_paths(jobs), Found::LongestPath)
}

/// Searches for an order with a short makespan. Longest path first is good but not always best, and occasionally worse
/// than no order, so others are simulated and the best is taken. The result is never worse than first come, first
/// served.
pub fn foresee(jobs: &Jobs, limits: &Limits) -> Foresight {
    let bound = Bounds::plain(jobs, limits.total).lower();
    let mut best = Foresight::of(jobs, limits, longest_paths(jobs), Found::LongestPath);
    // No order can be better than the lower bound.
    if best.timeline.makespan <= bound {
        return best;
    }
    let reversed = jobs.reversed();
    let mut ends = best.timeline.ends.clone();
    // Run backwards under the same limits, the jobs show how long before the end each must start.
    for _ in 0..IMPROVEMENT_ROUNDS {
        let backwards = simulate(&reversed, limits, Order::Ranked(&ends));
        let tried = Foresight::of(jobs, limits, backwards.ends, Found::Backwards);
        ends.clone_from(&tried.timeline.ends);
        best = best.better(tried);
        if best.timeline.makespan <= bound {
            return best;
        }
    }
    // Including this one keeps the result from being worse than no optimization at all.
    let first_come = simulate(jobs, limits, Order::FirstCome);
    if first_come.makespan < best.timeline.makespan {
        let ranks = first_come.as_ranks();
        best = best.better(Foresight::of(jobs, limits, ranks, Found::FirstCome));
    }
    let search = OrderSearch {
        jobs,
        reversed: &reversed,
        limits,
        bound,
        simulated_jobs: BEFORE_SEARCH * jobs.len() as u64,
    };
    search.improve(best)
}

impl Foresight {
    /// Simulates an order.
    pub(super) fn of(jobs: &Jobs, limits: &Limits, ranks: Vec<u64>, found: Found) -> Self {
        Self {
            timeline: simulate(jobs, limits, Order::Ranked(&ranks)),
            ranks,
            found,
        }
    }

    /// The one that ends earlier; `self` on a tie.
    pub(super) fn better(self, other: Self) -> Self {
        if other.timeline.makespan < self.timeline.makespan {
            other
        } else {
            self
        }
    }
}
