//! Random decisions of tests, the same ones for the same seed.

/// A generator of numbers that follow from a seed: SplitMix64.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// Creates the generator with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Returns true in this percentage of calls.
    pub fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
