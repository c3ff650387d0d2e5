//! Shapes of graphs: chain, wide, layered, random.

use std::ops::Range;

/// A shape of a dependency graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each step depends on the previous one.
    Chain,
    /// No step depends on another.
    Wide,
    /// Layers of ten steps; each depends on two of the layer before.
    Layered,
    /// Layers of ten steps; each depends on all of the layer before.
    Dense,
    /// Each step depends on up to three random steps among the previous thousand.
    Random,
    /// Each step depends on up to three random earlier steps, so that related data is spread over memory.
    Scattered,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 6] = [
        Self::Chain,
        Self::Wide,
        Self::Layered,
        Self::Dense,
        Self::Random,
        Self::Scattered,
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Wide => "wide",
            Self::Layered => "layered",
            Self::Dense => "dense",
            Self::Random => "random",
            Self::Scattered => "scattered",
        }
    }

    /// Returns the dependencies of each of `steps` steps.
    pub fn waits(self, steps: u32) -> Vec<Vec<u32>> {
        self.drawn(steps, &mut Xorshift64::new())
    }

    /// Returns `count` such graphs; random ones differ from each other.
    pub fn graphs(self, steps: u32, count: u32) -> Vec<Vec<Vec<u32>>> {
        let mut random = Xorshift64::new();
        (0..count).map(|_| self.drawn(steps, &mut random)).collect()
    }

    fn drawn(self, steps: u32, random: &mut Xorshift64) -> Vec<Vec<u32>> {
        (0..steps).map(|step| self.waits_of(step, random)).collect()
    }

    fn waits_of(self, step: u32, random: &mut Xorshift64) -> Vec<u32> {
        let layer = step / 10;
        let before = |column: u32| (layer - 1) * 10 + column % 10;
        match self {
            Self::Chain if step > 0 => vec![step - 1],
            Self::Layered if layer > 0 => vec![before(step), before(step + 3)],
            Self::Dense if layer > 0 => (0..10).map(before).collect(),
            Self::Random if step > 0 => random.some_of(step.saturating_sub(1_000)..step),
            Self::Scattered if step > 0 => random.some_of(0..step),
            _ => Vec::new(),
        }
    }
}

/// A deterministic pseudorandom number generator (xorshift64*, Vigna 2016).
#[derive(Debug)]
struct Xorshift64(u64);

impl Xorshift64 {
    fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// Returns up to three of `steps`.
    fn some_of(&mut self, steps: Range<u32>) -> Vec<u32> {
        let count = self.below(4);
        let mut some: Vec<u32> = (0..count)
            .map(|_| steps.start + self.below(steps.end - steps.start))
            .collect();
        some.sort_unstable();
        some.dedup();
        some
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        u32::try_from(number % u64::from(end)).unwrap_or(0)
    }
}
