//! A hierarchical bit set of small numbers that finds its minimum in constant time: one bit for each number, and above
//! every 64 words one word that marks the non-empty ones. A million numbers take four levels, so every operation reads
//! at most four words.

/// The number of bits in a word.
const WORD: usize = u64::BITS as usize;

/// A hierarchical bit set, see the module.
#[derive(Debug, Default)]
pub(super) struct HierarchicalBitSet {
    /// The levels, from the numbers themselves up to a single word.
    levels: Vec<Vec<u64>>,
}

impl HierarchicalBitSet {
    /// Creates an empty set for numbers below `end`.
    pub(super) fn below(end: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = end;
        while words != 1 || levels.is_empty() {
            words = words.div_ceil(WORD).max(1);
            levels.push(vec![0; words]);
        }
        Self { levels }
    }

    /// Returns true if it has no capacity.
    pub(super) fn is_unset(&self) -> bool {
        self.levels.is_empty()
    }

    /// Inserts `number`; one beyond the end is ignored.
    pub(super) fn insert(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at / WORD) else {
                return;
            };
            let before = *word;
            *word |= 1 << (at % WORD);
            // The levels above mark this word already.
            if before != 0 {
                return;
            }
            at /= WORD;
        }
    }

    /// Removes `number`, if it is in the set.
    pub(super) fn remove(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at / WORD) else {
                return;
            };
            *word &= !(1 << (at % WORD));
            // The word is not empty, so the levels above stay as they are.
            if *word != 0 {
                return;
            }
            at /= WORD;
        }
    }

    /// The minimum.
    pub(super) fn first(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level.get(at)?;
            if *word == 0 {
                return None;
            }
            at = at * WORD + word.trailing_zeros() as usize;
        }
        (!self.levels.is_empty()).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Inserts (`Ok`) and removes (`Err`) numbers, takes the minimum after each operation or not, and compares with a
    /// heap.
    fn check(end: usize, steps: &[(Result<usize, usize>, bool)]) {
        let mut marks = HierarchicalBitSet::below(end);
        let mut heap = BinaryHeap::new();
        for (step, pops) in steps {
            match step {
                Ok(number) => {
                    marks.insert(*number);
                    heap.retain(|Reverse(other)| other != number);
                    heap.push(Reverse(*number));
                }
                Err(number) => {
                    marks.remove(*number);
                    heap.retain(|Reverse(other)| other != number);
                }
            }
            let first = marks.first();
            assert_eq!(first, heap.peek().map(|Reverse(number)| *number));
            if *pops && let Some(first) = first {
                marks.remove(first);
                heap.pop();
            }
        }
        while let Some(Reverse(number)) = heap.pop() {
            assert_eq!(marks.first(), Some(number));
            marks.remove(number);
        }
        assert_eq!(marks.first(), None);
    }

    #[test]
    fn one_word_and_the_first_bit_of_the_next_level() {
        for end in [1, 63, 64, 65, 4095, 4096, 4097, 262_145] {
            let (last, middle) = (end - 1, end / 2);
            check(
                end,
                &[
                    (Err(last), false),
                    (Ok(last), false),
                    (Ok(middle), false),
                    (Ok(0), true),
                    (Err(middle), false),
                    (Ok(last), true),
                ],
            );
        }
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let mut empty = HierarchicalBitSet::default();
        empty.insert(0);
        empty.remove(0);
        assert_eq!(empty.first(), None);
        let mut none = HierarchicalBitSet::below(0);
        assert_eq!(none.first(), None);
        none.insert(64);
        none.remove(64);
        assert_eq!(none.first(), None);
    }

    prop_compose! {
        /// Numbers below the end, near each other and far from each other.
        fn steps()(end in prop_oneof![1_usize..200, 4_000_usize..300_000])(
            end in Just(end),
            steps in prop::collection::vec((any::<bool>(), 0..end, any::<bool>()), 0..200),
        ) -> (usize, Vec<(Result<usize, usize>, bool)>) {
            let step = |(inserts, number, pops)| (if inserts { Ok(number) } else { Err(number) }, pops);
            (end, steps.into_iter().map(step).collect())
        }
    }

    proptest! {
        #[test]
        fn as_a_heap_would((end, steps) in steps()) {
            check(end, &steps);
        }
    }
}
