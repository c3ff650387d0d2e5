//! How much a reader takes before it refuses.

use std::time::Duration;

/// What to do where a text is larger than its limits allow.
pub(crate) const TAKE_LESS: &str = "let large values be inputs of the run, or come from a step";

/// The bounds of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of text.
    pub bytes: usize,
    /// The deepest nesting of lists and objects; at most [`Limits::DEEPEST`].
    pub depth: usize,
    /// The most values, keys not counted.
    pub values: usize,
    /// The most findings that are told apart, up to [some](planwright_core::diagnostic::Tally::MOST); the rest is only counted.
    pub findings: usize,
}

impl Limits {
    /// The nesting that no setting goes beyond, so that what walks over a value need not fear for its stack.
    pub const DEEPEST: usize = 512;

    /// The longest time that a step may be given, or wait: some 584 years, the nanoseconds of which 64 bits can count.
    pub const LONGEST_TIME: Duration = Duration::from_nanos(u64::MAX);

    /// The depth that counts: the setting, or [`Limits::DEEPEST`] where that is less.
    pub fn depth_in_force(&self) -> usize {
        self.depth.min(Self::DEEPEST)
    }
}

impl Default for Limits {
    /// 16 MiB, 128 levels, a million values, a hundred findings.
    fn default() -> Self {
        Self {
            bytes: 16 * 1024 * 1024,
            depth: 128,
            values: 1_000_000,
            findings: 100,
        }
    }
}
