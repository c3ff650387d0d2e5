//! Lower bounds of the makespan over all orders.

use std::num::NonZeroUsize;

use super::jobs::Jobs;
use super::optimize::longest_paths;

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
    /// The best bound that can be proved: jobs that cannot begin early and have long paths after them share the slots
    /// in the middle, and a job cannot be divided.
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
    pub(super) fn quick(jobs: &Jobs, width: NonZeroUsize) -> u64 {
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

/// The best provable bound. No job that begins at `before` at the earliest and has at least `after` after it runs
/// outside of the time between, so that time must hold the work of all such jobs.
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

/// At most `most` of the values, evenly chosen.
fn sample_evenly(values: impl Iterator<Item = u64>, most: usize) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    let step = values.len().div_ceil(most).max(1);
    values.into_iter().step_by(step).collect()
}
