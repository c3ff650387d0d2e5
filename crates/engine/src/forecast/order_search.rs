//! Local search for a better order: swap a few jobs, then compact the timeline from both ends.

use super::bounds::Bounds;
use super::jobs::Jobs;
use super::optimize::{Foresight, Found};
use super::simulate::{Order, Timeline, simulate};
use crate::schedule::Limits;

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
pub(super) struct OrderSearch<'a> {
    pub(super) jobs: &'a Jobs,
    pub(super) reversed: &'a Jobs,
    pub(super) limits: &'a Limits,
    /// The lower bound of the makespan.
    pub(super) bound: u64,
    /// The number of jobs simulated so far.
    pub(super) simulated_jobs: u64,
}

impl OrderSearch<'_> {
    /// The best order found from `best` on. The result is deterministic, since the budget counts simulated jobs and
    /// not time.
    pub(super) fn improve(mut self, mut best: Foresight) -> Foresight {
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
    fn compact(&mut self, ranks: Vec<u64>) -> Foresight {
        self.simulated_jobs += self.cost_of_try();
        let there = Foresight::of(self.jobs, self.limits, ranks, Found::Search);
        let back = simulate(
            self.reversed,
            self.limits,
            Order::Ranked(&there.timeline.ends),
        );
        there.better(Foresight::of(
            self.jobs,
            self.limits,
            back.ends,
            Found::Search,
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
