//! A repeatable random generator: SplitMix64, by Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators" (2014).

use std::hash::{DefaultHasher, Hash, Hasher};

/// A source of numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for `what`: the same for the same seed, whatever was drawn before.
    pub(super) fn of(&self, what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.0, what).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Returns true in `percent` of all cases.
    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
