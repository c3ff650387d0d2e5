//! Looking for an order that ends earlier by trying: a few jobs change places, then all are pushed together from both ends.

use super::bounds::Bounds;
use super::jobs::Jobs;
use super::order::{Foresight, Found};
use super::simulate::{Order, Timeline, simulate};
use crate::schedule::Limits;

/// How many jobs are simulated at most, all tries together: some ten milliseconds. Of the recorded workflows that were
/// measured, twice as much made hardly one end earlier, and with half of it some bounds were missed that can be reached.
const EFFORT: u64 = 50_000;

/// One job is simulated for so many microseconds that could be gained. It takes a fifth of one, so that looking costs a
/// hundredth of what it may gain at most.
const WORTH: u64 = 20;

/// One part in so many of the whole is not worth looking for: no durations are known as well as that.
const CLOSE: u64 = 200;

/// An order that ends later than the best by less than one part in so many is gone on from, too: from the best alone,
/// small steps may lead nowhere.
const NEAR: u64 = 1_000;

/// How often two jobs change places in one try, at most.
const SWAPS: usize = 6;

/// Simulations in one try: there, back, and there again.
const EACH: u64 = 3;

/// Where something is looked for.
pub(super) struct Search<'a> {
    pub(super) jobs: &'a Jobs,
    pub(super) reversed: &'a Jobs,
    pub(super) limits: &'a Limits,
    /// When all could end at the earliest.
    pub(super) bound: u64,
    /// How many jobs were simulated already.
    pub(super) effort: u64,
}

impl Search<'_> {
    /// The best order that is found from `best` on. The same jobs always come to the same order, since effort counts and
    /// not time.
    pub(super) fn improve(mut self, mut best: Foresight) -> Foresight {
        if !self.takes_on(best.timeline.makespan) {
            return best;
        }
        self.bound = self.bound.max(Bounds::quick(self.jobs, self.limits.total));
        let calls = self.calls();
        let mut dice = Dice(0);
        let mut current = best.timeline.clone();
        while self.takes_on(best.timeline.makespan) {
            let tried = self.push_together(swapped(&current, &calls, &mut dice));
            let later = tried
                .timeline
                .makespan
                .saturating_sub(best.timeline.makespan);
            if later <= best.timeline.makespan / NEAR {
                current.clone_from(&tried.timeline);
            }
            best = best.or(tried);
        }
        best
    }

    /// Whether another try is worth its effort.
    fn takes_on(&self, makespan: u64) -> bool {
        let gain = makespan.saturating_sub(self.bound);
        gain > makespan / CLOSE && self.effort + self.once() <= EFFORT.min(gain / WORTH)
    }

    /// The effort of one try.
    fn once(&self) -> u64 {
        self.jobs.len() as u64 * EACH
    }

    /// The jobs that wait for places. To put others in order changes nothing.
    fn calls(&self) -> Vec<usize> {
        let all = self.jobs.jobs().iter().enumerate();
        all.filter(|(_, job)| job.lane.is_some())
            .map(|(id, _)| id)
            .collect()
    }

    /// What comes of an order; or of the one in which jobs come when they are run backwards from where it leads, and
    /// forwards again.
    fn push_together(&mut self, ranks: Vec<u64>) -> Foresight {
        self.effort += self.once();
        let there = Foresight::of(self.jobs, self.limits, ranks, Found::Search);
        let back = simulate(
            self.reversed,
            self.limits,
            Order::Ranked(&there.timeline.ends),
        );
        there.or(Foresight::of(
            self.jobs,
            self.limits,
            back.ends,
            Found::Search,
        ))
    }
}

/// The order of a timeline, in which a few jobs have changed places.
fn swapped(timeline: &Timeline, calls: &[usize], dice: &mut Dice) -> Vec<u64> {
    let mut ranks = timeline.as_ranks();
    for _ in 0..=dice.below(SWAPS) {
        if let (Some(one), Some(other)) = (dice.one_of(calls), dice.one_of(calls)) {
            ranks.swap(one, other);
        }
    }
    ranks
}

/// Numbers that look random, and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from((mixed ^ (mixed >> 31)) % end).unwrap_or(0)
    }

    fn one_of(&mut self, values: &[usize]) -> Option<usize> {
        values.get(self.below(values.len())).copied()
    }
}
