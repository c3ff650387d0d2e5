//! Which tasks are looked at before their turn comes.
//!
//! Of a million tasks the next is seldom near the one before, and for each the processor waits until what is known of it has
//! come from memory. Where many are looked at in one go it waits for all of them together, and finds them in its caches
//! later. A look at a single one ahead of its turn gains nothing.

use std::ops::Range;

/// How many are looked at in one go.
const BATCH: usize = 128;

/// How far ahead of their turn: far enough that few of those that start are not looked at yet, near enough that they are still in the
/// caches when they start.
const DISTANCE: usize = 2 * BATCH;

/// With fewer tasks than these all that is known of them fits into the caches anyway.
const MANY: usize = 1 << 15;

/// The places that were looked at.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The first that was not.
    next: usize,
}

impl Ahead {
    /// The places to look at now that the task at `place` starts, of which there are `count`. Mostly there are none.
    pub(super) fn batch(&mut self, place: usize, count: usize) -> Range<usize> {
        if count < MANY || self.next > place + DISTANCE {
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

    /// The batches that are looked at while tasks start at these places.
    #[track_caller]
    fn check(count: usize, starts: impl IntoIterator<Item = usize>, batches: &[Range<usize>]) {
        let mut ahead = Ahead::default();
        let looked = starts.into_iter().map(|place| ahead.batch(place, count));
        let looked: Vec<Range<usize>> = looked.filter(|batch| !batch.is_empty()).collect();
        assert_eq!(looked, batches);
    }

    #[test]
    fn batch_after_batch_ahead_of_the_tasks_that_start() {
        check(MANY, 0..129, &[0..128, 128..256, 256..384, 384..512]);
        check(MANY, [5, 3, 4], &[5..133, 133..261]);
    }

    #[test]
    fn what_is_passed_over_is_not_looked_at_later() {
        check(MANY, [0, 5000, 1, 5001], &[0..128, 5000..5128, 5128..5256]);
    }

    #[test]
    fn it_ends_with_the_last_place() {
        check(
            MANY,
            [MANY - 1, MANY - 1],
            slice::from_ref(&(MANY - 1..MANY)),
        );
        check(MANY, [MANY + 5], &[]);
    }

    #[test]
    fn few_are_not_looked_at() {
        check(MANY - 1, 0..MANY, &[]);
    }
}
