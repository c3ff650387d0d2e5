//! Optimization of the order in which jobs start: rules of priority, then a local search that swaps a few jobs and compacts
//! the timeline from both ends; and lower bounds of the makespan over all orders.

use std::num::NonZeroUsize;

use super::simulate::{Jobs, StartOrder, Timeline, simulate};
use crate::schedule::{ConcurrencyLimits, ranks};

/// The number of starts and ends sampled for [`Bounds::provable`].
const PROOF_SAMPLES: usize = 48;

/// The number of samples if the bound must be cheap. It costs about as much as a simulation.
const QUICK_PROOF_SAMPLES: usize = 4;

/// Lower bounds, in microseconds, of the time in which the jobs can end with a limited number in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The longest path of jobs that depend on each other.
    pub path: u64,
    /// The total work, spread evenly over all slots.
    pub work: u64,
    /// The best provable bound. Jobs that cannot begin early and have long paths after them share the slots in the middle, and a job
    /// cannot be divided.
    pub provable: u64,
}

impl Bounds {
    /// Computes the bounds for at most `width` jobs in flight.
    pub fn of(jobs: &Jobs, width: NonZeroUsize) -> Self {
        let plain = Self::plain(jobs, width);
        Self {
            provable: provable(jobs, width.get(), PROOF_SAMPLES).max(plain.lower()),
            ..plain
        }
    }

    /// Computes path and work only.
    pub(crate) fn plain(jobs: &Jobs, width: NonZeroUsize) -> Self {
        let path = longest_paths(jobs).into_iter().max().unwrap_or(0);
        let total = calls(jobs).fold(0_u64, |sum, (_, time)| sum.saturating_add(time));
        let work = spread_evenly(total, width.get());
        Self {
            path,
            work,
            provable: path.max(work),
        }
    }

    /// A bound that is cheap to prove.
    fn quick(jobs: &Jobs, width: NonZeroUsize) -> u64 {
        provable(jobs, width.get(), QUICK_PROOF_SAMPLES)
    }

    /// The greater of path and work.
    pub fn lower(&self) -> u64 {
        self.path.max(self.work)
    }
}

/// The jobs that need a slot, with their times.
fn calls(jobs: &Jobs) -> impl Iterator<Item = (usize, u64)> {
    let all = jobs.jobs().iter().enumerate();
    all.filter(|(_, job)| job.lane.is_some())
        .map(|(id, job)| (id, job.time()))
}

fn spread_evenly(work: u64, width: usize) -> u64 {
    work.div_ceil(u64::try_from(width).unwrap_or(u64::MAX))
}

/// A job with the earliest time at which it can begin and the longest path after it.
#[derive(Clone, Copy)]
struct JobWindow {
    before: u64,
    time: u64,
    after: u64,
}

/// Computes the best provable bound. A job that begins at `before` at the earliest and has at least `after` after it runs within the time
/// between, so that time must hold the work of all such jobs.
fn provable(jobs: &Jobs, width: usize, samples: usize) -> u64 {
    let from_start = longest_paths(&jobs.reversed());
    let to_end = longest_paths(jobs);
    let of = |list: &[u64], id: usize, time: u64| {
        list.get(id).copied().unwrap_or(time).saturating_sub(time)
    };
    let middles: Vec<JobWindow> = calls(jobs)
        .map(|(id, time)| JobWindow {
            before: of(&from_start, id, time),
            time,
            after: of(&to_end, id, time),
        })
        .collect();
    let befores = sample_evenly(middles.iter().map(|job| job.before), samples);
    let afters = sample_evenly(middles.iter().map(|job| job.after), samples);
    let mut best = 0_u64;
    for before in befores {
        let mut late: Vec<JobWindow> = middles
            .iter()
            .filter(|job| job.before >= before)
            .copied()
            .collect();
        // In this order, each prefix holds all jobs with at least that much after them.
        late.sort_by_key(|job| std::cmp::Reverse(job.after));
        let mut work = 0_u64;
        for job in &late {
            work = work.saturating_add(job.time);
            best = best.max(total_time(before, spread_evenly(work, width), job.after));
        }
        late.sort_by_key(|job| std::cmp::Reverse(job.time));
        // This bound costs more, so only samples are tried.
        for after in &afters {
            let times = late.iter().filter(|job| job.after >= *after);
            let indivisible_time = indivisible_time(times.map(|job| job.time), width);
            if indivisible_time > 0 {
                best = best.max(total_time(before, indivisible_time, *after));
            }
        }
    }
    best
}

/// Saturates, since times can be as long as a number can be.
fn total_time(before: u64, between: u64, after: u64) -> u64 {
    before.saturating_add(between).saturating_add(after)
}

/// The time that indivisible jobs need at least: of the `k * width + 1` longest, one slot must take `k + 1`.
fn indivisible_time(longest_first: impl Iterator<Item = u64>, width: usize) -> u64 {
    // Prefix sums, so any range is summed in constant time.
    let mut sums = vec![0];
    sums.extend(longest_first.scan(0_u64, |sum, time| {
        *sum = sum.saturating_add(time);
        Some(*sum)
    }));
    let sum = |count: usize| sums.get(count).copied().unwrap_or(0);
    let lasts = (1..sums.len()).step_by(width).enumerate();
    lasts
        .map(|(k, last)| sum(last).saturating_sub(sum(last.saturating_sub(k + 1))))
        .max()
        .unwrap_or(0)
}

/// At most `limit` of the values, evenly chosen.
fn sample_evenly(values: impl Iterator<Item = u64>, limit: usize) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    let step = values.len().div_ceil(limit).max(1);
    values.into_iter().step_by(step).collect()
}

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
    let work = calls(jobs).fold(0_u64, |sum, (_, time)| sum.saturating_add(time));
    is_work_worth_optimizing(jobs.len(), work)
}

/// As [`is_worth_optimizing`], for `count` jobs whose calls take `work` microseconds in total.
pub(crate) fn is_work_worth_optimizing(count: usize, work: u64) -> bool {
    let least = MIN_MEAN_DURATION.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX));
    count <= MAX_OPTIMIZED_JOBS && work >= least
}

/// The order of a run of `jobs`: optimized if that is worth the cost, otherwise longest path first.
pub fn run_order(jobs: &Jobs, limits: &ConcurrencyLimits) -> OptimizedOrder {
    if is_worth_optimizing(jobs) {
        return optimize_order(jobs, limits);
    }
    OptimizedOrder::of(jobs, limits, longest_paths(jobs), OrderSource::LongestPath)
}

/// Searches for an order with a short makespan. Longest path first is good but not always best, and occasionally worse
/// than no order, so others are simulated and the best is taken. The result is never worse than first come, first
/// served.
pub fn optimize_order(jobs: &Jobs, limits: &ConcurrencyLimits) -> OptimizedOrder {
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
        let backwards = simulate(&reversed, limits, StartOrder::Ranked(&ends));
        let tried = OptimizedOrder::of(jobs, limits, backwards.ends, OrderSource::Backwards);
        ends.clone_from(&tried.timeline.ends);
        best = best.better(tried);
        if best.timeline.makespan <= bound {
            return best;
        }
    }
    // Including this one keeps the result from being worse than no optimization at all.
    let first_come = simulate(jobs, limits, StartOrder::FirstCome);
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
    fn of(jobs: &Jobs, limits: &ConcurrencyLimits, ranks: Vec<u64>, found: OrderSource) -> Self {
        Self {
            timeline: simulate(jobs, limits, StartOrder::Ranked(&ranks)),
            ranks,
            found,
        }
    }

    /// Returns the order that ends earlier; `self` on a tie.
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

/// The search also continues from an order within this fraction of the best, because small changes of the best order may not improve it.
const ACCEPTED_LOSS: u64 = 1_000;

/// The maximum number of swaps in one try.
const MAX_SWAPS: usize = 6;

/// The number of simulations in one try: forwards, backwards, forwards.
const SIMULATIONS_PER_TRY: u64 = 3;

/// A local search over the orders of some jobs.
struct OrderSearch<'a> {
    jobs: &'a Jobs,
    reversed: &'a Jobs,
    limits: &'a ConcurrencyLimits,
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
            StartOrder::Ranked(&there.timeline.ends),
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
