//! Looking ahead: which order ends early.

use super::bounds::Bounds;
use super::jobs::Jobs;
use super::simulate::{Order, Timeline, simulate};
use crate::schedule::{Limits, ranks};

/// How often the order is improved from its two ends. Beyond the third time hardly anything is gained.
const ROUNDS: usize = 3;

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
}

/// The longest path from the start of each job to the end of all, in microseconds.
pub fn longest_paths(jobs: &Jobs) -> Vec<u64> {
    ranks(&jobs.times(), jobs.waits())
}

/// Looks ahead. Longest path first is a good order but not always the best, and once in a while worse than none; so
/// others are tried in virtual time, and the best of all is taken. It is never worse than first come, first served.
pub fn foresee(jobs: &Jobs, limits: &Limits) -> Foresight {
    let ranks = longest_paths(jobs);
    let timeline = simulate(jobs, limits, Order::Ranked(&ranks));
    let bound = Bounds::plain(jobs, limits.total).lower();
    let mut best = Foresight {
        ranks,
        timeline,
        found: Found::LongestPath,
    };
    if best.timeline.makespan <= bound {
        return best;
    }
    let consider = |ranks: Vec<u64>, found: Found, best: &mut Foresight| {
        let timeline = simulate(jobs, limits, Order::Ranked(&ranks));
        let ends = timeline.ends.clone();
        if timeline.makespan < best.timeline.makespan {
            *best = Foresight {
                ranks,
                timeline,
                found,
            };
        }
        ends
    };
    let reversed = jobs.reversed();
    let mut ends = best.timeline.ends.clone();
    for _ in 0..ROUNDS {
        let backwards = simulate(&reversed, limits, Order::Ranked(&ends));
        ends = consider(backwards.ends, Found::Backwards, &mut best);
        if best.timeline.makespan <= bound {
            return best;
        }
    }
    let first_come = simulate(jobs, limits, Order::FirstCome);
    if first_come.makespan < best.timeline.makespan {
        consider(first_come.as_ranks(), Found::FirstCome, &mut best);
    }
    best
}
