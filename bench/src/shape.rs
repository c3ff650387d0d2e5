//! Shapes of graphs: chain, wide, layered, random.

use std::ops::Range;

/// A shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each waits for the one before.
    Chain,
    /// None waits for any other.
    Wide,
    /// Layers of ten; each waits for two of the layer before.
    Layered,
    /// Layers of ten; each waits for all of the layer before.
    Dense,
    /// Each waits for up to three of the thousand before it, drawn by a fixed generator.
    Random,
    /// Each waits for up to three of all before it: nothing that belongs together lies together.
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

    /// Its name.
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

    /// For each of `steps` steps, those that it waits for.
    pub fn waits(self, steps: u32) -> Vec<Vec<u32>> {
        self.drawn(steps, &mut Dice::new())
    }

    /// The same for `count` graphs; those that are drawn differ from each other.
    pub fn graphs(self, steps: u32, count: u32) -> Vec<Vec<Vec<u32>>> {
        let mut dice = Dice::new();
        (0..count).map(|_| self.drawn(steps, &mut dice)).collect()
    }

    fn drawn(self, steps: u32, dice: &mut Dice) -> Vec<Vec<u32>> {
        (0..steps).map(|step| self.waits_of(step, dice)).collect()
    }

    fn waits_of(self, step: u32, dice: &mut Dice) -> Vec<u32> {
        let layer = step / 10;
        let before = |column: u32| (layer - 1) * 10 + column % 10;
        match self {
            Self::Chain if step > 0 => vec![step - 1],
            Self::Layered if layer > 0 => vec![before(step), before(step + 3)],
            Self::Dense if layer > 0 => (0..10).map(before).collect(),
            Self::Random if step > 0 => dice.some_of(step.saturating_sub(1_000)..step),
            Self::Scattered if step > 0 => dice.some_of(0..step),
            _ => Vec::new(),
        }
    }
}

/// A generator of numbers that look random and are the same every time (xorshift64*, Vigna 2016).
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// Up to three of `steps`.
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
