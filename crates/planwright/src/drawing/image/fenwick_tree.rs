//! A tree of counts, after P. Fenwick.

/// Counts by position, with sums of prefixes in logarithmic time.
pub(super) struct FenwickTree(Vec<usize>);

impl FenwickTree {
    pub(super) fn new(positions: usize) -> Self {
        Self(vec![0; positions + 1])
    }

    pub(super) fn add(&mut self, position: usize) {
        let mut index = position + 1;
        while let Some(count) = self.0.get_mut(index) {
            *count += 1;
            index += index & index.wrapping_neg();
        }
    }

    /// The number of added positions up to `position`, included.
    pub(super) fn up_to(&self, position: usize) -> usize {
        let mut index = position + 1;
        let mut sum = 0;
        while index > 0 {
            sum += self.0.get(index).copied().unwrap_or(0);
            index &= index - 1;
        }
        sum
    }
}
