//! How early any order could end.

use std::num::NonZeroUsize;

use super::jobs::Jobs;
use super::order::longest_paths;

/// How many beginnings and ends are looked at for [`Bounds::provable`].
const LOOKS: usize = 48;

/// How many are where it must be quick. That costs about as much as a simulation.
const QUICK_LOOKS: usize = 4;

/// Times, in microseconds, below which no order of the jobs can end where so many may be under way together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The longest path: what has to happen one after the other.
    pub path: u64,
    /// All the work, spread evenly over all places.
    pub work: u64,
    /// What can be proved beyond these: jobs that cannot begin early and have much behind them must share the places
    /// in the middle, and a job cannot be cut in pieces.
    pub provable: u64,
}

impl Bounds {
    /// The bounds of jobs of which `width` may be under way together.
    pub fn of(jobs: &Jobs, width: NonZeroUsize) -> Self {
        let plain = Self::plain(jobs, width);
        Self {
            provable: provable(jobs, width.get(), LOOKS).max(plain.lower()),
            ..plain
        }
    }

    /// The same without the effort of proving more.
    pub(crate) fn plain(jobs: &Jobs, width: NonZeroUsize) -> Self {
        let path = longest_paths(jobs).into_iter().max().unwrap_or(0);
        let total = calls(jobs).fold(0_u64, |sum, (_, time)| sum.saturating_add(time));
        let work = spread(total, width.get());
        Self {
            path,
            work,
            provable: path.max(work),
        }
    }

    /// What can be proved without much effort.
    pub(super) fn quick(jobs: &Jobs, width: NonZeroUsize) -> u64 {
        provable(jobs, width.get(), QUICK_LOOKS)
    }

    /// The greater of path and work.
    pub fn lower(&self) -> u64 {
        self.path.max(self.work)
    }
}

/// The jobs that need a place, with their times.
fn calls(jobs: &Jobs) -> impl Iterator<Item = (usize, u64)> {
    let all = jobs.jobs().iter().enumerate();
    all.filter(|(_, job)| job.lane.is_some())
        .map(|(id, job)| (id, job.time()))
}

fn spread(work: u64, width: usize) -> u64 {
    work.div_ceil(u64::try_from(width).unwrap_or(u64::MAX))
}

/// One job as the proofs see it: what must come before it, how long it takes, what must come after it.
#[derive(Clone, Copy)]
struct Middle {
    before: u64,
    time: u64,
    after: u64,
}

/// Of all jobs that begin at `before` at the earliest and have at least `after` behind them, none runs outside of the
/// time between; so that time must hold their work.
fn provable(jobs: &Jobs, width: usize, looks: usize) -> u64 {
    let from_start = longest_paths(&jobs.reversed());
    let to_end = longest_paths(jobs);
    let of = |list: &[u64], id: usize, time: u64| {
        list.get(id).copied().unwrap_or(time).saturating_sub(time)
    };
    let middles: Vec<Middle> = calls(jobs)
        .map(|(id, time)| Middle {
            before: of(&from_start, id, time),
            time,
            after: of(&to_end, id, time),
        })
        .collect();
    let befores = some_of(middles.iter().map(|job| job.before), looks);
    let afters = some_of(middles.iter().map(|job| job.after), looks);
    let mut best = 0_u64;
    for before in befores {
        let mut late: Vec<Middle> = middles
            .iter()
            .filter(|job| job.before >= before)
            .copied()
            .collect();
        late.sort_by_key(|job| std::cmp::Reverse(job.after));
        let mut work = 0_u64;
        for job in &late {
            work = work.saturating_add(job.time);
            best = best.max(through(before, spread(work, width), job.after));
        }
        late.sort_by_key(|job| std::cmp::Reverse(job.time));
        for after in &afters {
            let times = late.iter().filter(|job| job.after >= *after);
            let uncut = uncut(times.map(|job| job.time), width);
            if uncut > 0 {
                best = best.max(through(before, uncut, *after));
            }
        }
    }
    best
}

/// Some times are as long as a number can be.
fn through(before: u64, between: u64, after: u64) -> u64 {
    before.saturating_add(between).saturating_add(after)
}

/// Of the `k * width + 1` longest jobs, one place must take `k + 1`.
fn uncut(longest_first: impl Iterator<Item = u64>, width: usize) -> u64 {
    // The sums of the first ones, so that many in a row are summed up at once.
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

/// So many of the values at most, evenly chosen.
fn some_of(values: impl Iterator<Item = u64>, most: usize) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    let step = values.len().div_ceil(most).max(1);
    values.into_iter().step_by(step).collect()
}
