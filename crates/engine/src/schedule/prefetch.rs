//! Cache prefetching for tasks that will start soon.
//!
//! With a million tasks, the next one is seldom near the previous one in memory, so the processor waits for memory at
//! each start. If many tasks are read in one batch, it waits for all of them together and finds them in its caches
//! later. Prefetching a single task gains nothing.
//!
//! Design: [Tasks are prefetched in batches](https://github.com/planwright/planwright/blob/main/docs/design/scheduling.md#tasks-are-prefetched-in-batches).

use std::ops::Range;

/// The number of tasks in one batch.
const BATCH: usize = 128;

/// The distance from the current task: far enough that few tasks start before they are prefetched, near enough that
/// they are still in the caches when they start.
const DISTANCE: usize = 2 * BATCH;

/// The minimum number of tasks. Fewer fit into the caches anyway.
const MIN_TASKS: usize = 1 << 15;

/// The progress of prefetching.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    /// The first place that has not been prefetched.
    next: usize,
}

impl Prefetch {
    /// The places to prefetch when the task at `place` of `count` starts. Mostly empty.
    pub(super) fn batch(&mut self, place: usize, count: usize) -> Range<usize> {
        if count < MIN_TASKS || self.next > place + DISTANCE {
            return 0..0;
        }
        let first = self.next.max(place).min(count);
        self.next = first + BATCH;
        first..self.next.min(count)
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    /// The batches that are prefetched while tasks start at these places.
    #[track_caller]
    fn check(count: usize, starts: impl IntoIterator<Item = usize>, batches: &[Range<usize>]) {
        let mut ahead = Prefetch::default();
        let looked = starts.into_iter().map(|place| ahead.batch(place, count));
        let looked: Vec<Range<usize>> = looked.filter(|batch| !batch.is_empty()).collect();
        assert_eq!(looked, batches);
    }

    #[test]
    fn batch_after_batch_ahead_of_the_tasks_that_start() {
        check(MIN_TASKS, 0..129, &[0..128, 128..256, 256..384, 384..512]);
        check(MIN_TASKS, [5, 3, 4], &[5..133, 133..261]);
    }

    #[test]
    fn what_is_passed_over_is_not_looked_at_later() {
        check(
            MIN_TASKS,
            [0, 5000, 1, 5001],
            &[0..128, 5000..5128, 5128..5256],
        );
    }

    #[test]
    fn it_ends_with_the_last_place() {
        check(
            MIN_TASKS,
            [MIN_TASKS - 1, MIN_TASKS - 1],
            slice::from_ref(&(MIN_TASKS - 1..MIN_TASKS)),
        );
        check(MIN_TASKS, [MIN_TASKS + 5], &[]);
    }

    #[test]
    fn few_are_not_looked_at() {
        check(MIN_TASKS - 1, 0..MIN_TASKS, &[]);
    }
}
