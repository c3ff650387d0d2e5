//! Looking ahead: which order ends early.

use std::num::NonZeroUsize;

use super::bounds::Bounds;
use super::jobs::Jobs;
use super::search::Search;
use super::simulate::{Order, Timeline, simulate};
use crate::schedule::{Limits, ranks};

/// The most jobs that are looked ahead for before a run. More keep all places busy in any order.
pub(crate) const FORESEEN_JOBS: usize = 10_000;

/// Looking ahead costs some microseconds a job, so a job must be worth more than that, in microseconds.
const WORTHWHILE: u64 = 1_000;

/// How often the order is improved from its two ends. Beyond the third time hardly anything is gained.
const ROUNDS: u64 = 3;

/// Simulations before anything is looked for: longest path first, back and there in each round, first come.
const BEFORE_SEARCH: u64 = 2 + 2 * ROUNDS;

/// The best order that was found.
#[derive(Clone, Debug)]
pub struct Foresight {
    /// The rank of each job.
    pub ranks: Vec<u64>,
    /// What comes of it.
    pub timeline: Timeline,
    /// Where it comes from.
    pub found: Found,
}

/// Where an order comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The longest remaining path goes first.
    LongestPath,
    /// What could start first goes first.
    FirstCome,
    /// The jobs were run backwards under the same limits: what has to start longest before the end goes first.
    Backwards,
    /// It was found by letting jobs change places and looking what comes of it.
    Search,
}

/// The longest path from the start of each job to the end of all, in microseconds.
pub fn longest_paths(jobs: &Jobs) -> Vec<u64> {
    ranks(&jobs.times(), jobs.waits())
}

/// Whether a run of `jobs` looks ahead before it begins: where that is worth the effort.
pub fn is_foreseen(jobs: &Jobs) -> bool {
    let least = WORTHWHILE.saturating_mul(u64::try_from(jobs.len()).unwrap_or(u64::MAX));
    jobs.len() <= FORESEEN_JOBS && Bounds::plain(jobs, NonZeroUsize::MIN).work >= least
}

/// The order in which a run of `jobs` would go about them: the one that looking ahead finds, where it does, else longest path
/// first.
pub fn order_of_run(jobs: &Jobs, limits: &Limits) -> Foresight {
    if is_foreseen(jobs) {
        return foresee(jobs, limits);
    }
    Foresight::of(jobs, limits, longest_paths(jobs), Found::LongestPath)
}

/// Looks ahead. Longest path first is a good order but not always the best, and once in a while worse than none; so
/// others are tried in virtual time, and the best of all is taken. It is never worse than first come, first served.
pub fn foresee(jobs: &Jobs, limits: &Limits) -> Foresight {
    let bound = Bounds::plain(jobs, limits.total).lower();
    let mut best = Foresight::of(jobs, limits, longest_paths(jobs), Found::LongestPath);
    if best.timeline.makespan <= bound {
        return best;
    }
    let reversed = jobs.reversed();
    let mut ends = best.timeline.ends.clone();
    for _ in 0..ROUNDS {
        let backwards = simulate(&reversed, limits, Order::Ranked(&ends));
        let tried = Foresight::of(jobs, limits, backwards.ends, Found::Backwards);
        ends.clone_from(&tried.timeline.ends);
        best = best.or(tried);
        if best.timeline.makespan <= bound {
            return best;
        }
    }
    let first_come = simulate(jobs, limits, Order::FirstCome);
    if first_come.makespan < best.timeline.makespan {
        let ranks = first_come.as_ranks();
        best = best.or(Foresight::of(jobs, limits, ranks, Found::FirstCome));
    }
    let search = Search {
        jobs,
        reversed: &reversed,
        limits,
        bound,
        effort: BEFORE_SEARCH * jobs.len() as u64,
    };
    search.improve(best)
}

impl Foresight {
    /// What comes of an order.
    pub(super) fn of(jobs: &Jobs, limits: &Limits, ranks: Vec<u64>, found: Found) -> Self {
        Self {
            timeline: simulate(jobs, limits, Order::Ranked(&ranks)),
            ranks,
            found,
        }
    }

    /// The one that ends earlier; this one where both do.
    pub(super) fn or(self, other: Self) -> Self {
        if other.timeline.makespan < self.timeline.makespan {
            other
        } else {
            self
        }
    }
}
