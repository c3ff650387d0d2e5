//! Optimization of the order in which jobs start: rules of priority, then a local search that swaps a few jobs and
//! compacts the timeline from both ends.

use std::num::NonZeroUsize;

use super::bounds::Bounds;
use super::jobs::Jobs;
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
pub struct OptimizedOrder {
    /// The rank of each job.
    pub ranks: Vec<u64>,
    /// The resulting timeline.
    pub timeline: Timeline,
    /// The method that found it.
    pub found: OrderSource,
}

/// The method that found an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderSource {
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
pub fn run_order(jobs: &Jobs, limits: &Limits) -> OptimizedOrder {
    if is_worth_optimizing(jobs) {
        return optimize_order(jobs, limits);
    }
    OptimizedOrder::of(jobs, limits, longest_paths(jobs), OrderSource::LongestPath)
}

/// Searches for an order with a short makespan. Longest path first is good but not always best, and occasionally worse
/// than no order, so others are simulated and the best is taken. The result is never worse than first come, first
/// served.
pub fn optimize_order(jobs: &Jobs, limits: &Limits) -> OptimizedOrder {
    let bound = Bounds::plain(jobs, limits.total).lower();
    let mut best = OptimizedOrder::of(jobs, limits, longest_paths(jobs), OrderSource::LongestPath);
    // No order can be better than the lower bound.
    if best.timeline.makespan <= bound {
        return best;
    }
    let reversed = jobs.reversed();
    let mut ends = best.timeline.ends.clone();
    // Run backwards under the same limits, the jobs show how long before the end each must start.
    for _ in 0..IMPROVEMENT_ROUNDS {
        let backwards = simulate(&reversed, limits, Order::Ranked(&ends));
        let tried = OptimizedOrder::of(jobs, limits, backwards.ends, OrderSource::Backwards);
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
        best = best.better(OptimizedOrder::of(
            jobs,
            limits,
            ranks,
            OrderSource::FirstCome,
        ));
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

impl OptimizedOrder {
    /// Simulates an order.
    fn of(jobs: &Jobs, limits: &Limits, ranks: Vec<u64>, found: OrderSource) -> Self {
        Self {
            timeline: simulate(jobs, limits, Order::Ranked(&ranks)),
            ranks,
            found,
        }
    }

    /// The one that ends earlier; `self` on a tie.
    fn better(self, other: Self) -> Self {
        if other.timeline.makespan < self.timeline.makespan {
            other
        } else {
            self
        }
    }
}

/// The maximum number of simulated jobs over all tries, which takes some ten milliseconds. On the recorded workflows
/// that were measured, twice as many improved hardly any, and half as many missed some reachable bounds.
const MAX_SIMULATED_JOBS: u64 = 50_000;

/// The number of microseconds that could be gained for each simulated job. Simulating one takes a fifth of a
/// microsecond, so a search costs at most a hundredth of its possible gain.
const MICROS_PER_JOB: u64 = 20;

/// A gap to the bound below this fraction of the makespan is not worth a search: no durations are known that well.
const MIN_GAP: u64 = 200;

/// An order within this fraction of the best is also continued from: from the best alone, small steps may lead
/// nowhere.
const ACCEPTED_LOSS: u64 = 1_000;

/// The maximum number of swaps in one try.
const MAX_SWAPS: usize = 6;

/// The number of simulations in one try: forwards, backwards, forwards.
const SIMULATIONS_PER_TRY: u64 = 3;

/// A local search over the orders of some jobs.
struct OrderSearch<'a> {
    jobs: &'a Jobs,
    reversed: &'a Jobs,
    limits: &'a Limits,
    /// The lower bound of the makespan.
    bound: u64,
    /// The number of jobs simulated so far.
    simulated_jobs: u64,
}

impl OrderSearch<'_> {
    /// The best order found from `best` on. The result is deterministic, since the budget counts simulated jobs and
    /// not time.
    fn improve(mut self, mut best: OptimizedOrder) -> OptimizedOrder {
        if !self.is_worth_a_try(best.timeline.makespan) {
            return best;
        }
        self.bound = self.bound.max(Bounds::quick(self.jobs, self.limits.total));
        let calls = self.calls();
        // The seed is fixed: a replay must find the same order.
        let mut random = SplitMix64(0);
        let mut current = best.timeline.clone();
        while self.is_worth_a_try(best.timeline.makespan) {
            let tried = self.compact(swap_some(&current, &calls, &mut random));
            let later = tried
                .timeline
                .makespan
                .saturating_sub(best.timeline.makespan);
            if later <= best.timeline.makespan / ACCEPTED_LOSS {
                current.clone_from(&tried.timeline);
            }
            best = best.better(tried);
        }
        best
    }

    /// Returns true if another try is worth its cost.
    fn is_worth_a_try(&self, makespan: u64) -> bool {
        let gain = makespan.saturating_sub(self.bound);
        gain > makespan / MIN_GAP
            && self.simulated_jobs + self.cost_of_try()
                <= MAX_SIMULATED_JOBS.min(gain / MICROS_PER_JOB)
    }

    /// The cost of one try.
    fn cost_of_try(&self) -> u64 {
        self.jobs.len() as u64 * SIMULATIONS_PER_TRY
    }

    /// The jobs that wait for slots. The order of others has no effect.
    fn calls(&self) -> Vec<usize> {
        let all = self.jobs.jobs().iter().enumerate();
        all.filter(|(_, job)| job.lane.is_some())
            .map(|(id, _)| id)
            .collect()
    }

    /// Simulates an order, then runs the jobs backwards from its result and forwards again. Returns the better
    /// timeline.
    fn compact(&mut self, ranks: Vec<u64>) -> OptimizedOrder {
        self.simulated_jobs += self.cost_of_try();
        let there = OptimizedOrder::of(self.jobs, self.limits, ranks, OrderSource::Search);
        let back = simulate(
            self.reversed,
            self.limits,
            Order::Ranked(&there.timeline.ends),
        );
        there.better(OptimizedOrder::of(
            self.jobs,
            self.limits,
            back.ends,
            OrderSource::Search,
        ))
    }
}

/// The order of a timeline with a few jobs swapped.
fn swap_some(timeline: &Timeline, calls: &[usize], random: &mut SplitMix64) -> Vec<u64> {
    let mut ranks = timeline.as_ranks();
    for _ in 0..=random.next_below(MAX_SWAPS) {
        if let (Some(one), Some(other)) = (random.choose(calls), random.choose(calls)) {
            ranks.swap(one, other);
        }
    }
    ranks
}

/// A deterministic pseudo-random generator (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from((mixed ^ (mixed >> 31)) % end).unwrap_or(0)
    }

    fn choose(&mut self, values: &[usize]) -> Option<usize> {
        values.get(self.next_below(values.len())).copied()
    }
}
