//! Shapes of graphs: chain, wide, layered, random.

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
    /// Each waits for up to three earlier ones, drawn by a fixed generator.
    Random,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 5] = [
        Self::Chain,
        Self::Wide,
        Self::Layered,
        Self::Dense,
        Self::Random,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Wide => "wide",
            Self::Layered => "layered",
            Self::Dense => "dense",
            Self::Random => "random",
        }
    }

    /// For each of `steps` steps, those that it waits for.
    pub fn waits(self, steps: u32) -> Vec<Vec<u32>> {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        (0..steps)
            .map(|step| self.waits_of(step, &mut dice))
            .collect()
    }

    fn waits_of(self, step: u32, dice: &mut Dice) -> Vec<u32> {
        let layer = step / 10;
        let before = |column: u32| (layer - 1) * 10 + column % 10;
        match self {
            Self::Chain if step > 0 => vec![step - 1],
            Self::Layered if layer > 0 => vec![before(step), before(step + 3)],
            Self::Dense if layer > 0 => (0..10).map(before).collect(),
            Self::Random if step > 0 => {
                let mut waits: Vec<u32> = (0..dice.below(4)).map(|_| dice.below(step)).collect();
                waits.sort_unstable();
                waits.dedup();
                waits
            }
            _ => Vec::new(),
        }
    }
}

/// A generator of numbers that look random and are the same every time (xorshift64*, Vigna 2016).
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        u32::try_from(number % u64::from(end)).unwrap_or(0)
    }
}
