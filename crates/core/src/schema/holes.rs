//! The parts of a value that nothing is known of, found by their paths.

use std::collections::HashMap;

use crate::{Hashing, PointerSegment};

/// Where in a value something is that nobody knows yet. What is below one part is found without a look at the others.
#[derive(Debug)]
pub(crate) enum Holes {
    /// All of it is one hole.
    Whole,
    /// These parts have holes, and nothing else has. Each is a hole or has some below it.
    Parts(HashMap<PointerSegment, Holes, Hashing>),
}

impl Holes {
    /// No holes.
    pub(crate) fn none() -> Self {
        Self::Parts(HashMap::default())
    }

    /// Says that the part called `part` has `holes`.
    pub(crate) fn add(&mut self, part: PointerSegment, holes: Self) {
        if let Self::Parts(parts) = self
            && !holes.is_empty()
        {
            parts.insert(part, holes);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.is_empty())
    }

    /// The holes below one part; nothing where it has none.
    pub(super) fn below(&self, part: &PointerSegment) -> Option<&Self> {
        match self {
            Self::Whole => None,
            Self::Parts(parts) => parts.get(part),
        }
    }

    /// Whether what stands at `path` is in a hole.
    pub(crate) fn cover(&self, path: &[PointerSegment]) -> bool {
        let mut at = self;
        for segment in path {
            match at.below(segment) {
                Some(below) => at = below,
                None => break,
            }
        }
        matches!(at, Self::Whole)
    }

    /// Whether what stands at `path` is a hole, or has one below it.
    pub(crate) fn touch(&self, path: &[PointerSegment]) -> bool {
        let below = path.iter().try_fold(self, |at, segment| at.below(segment));
        below.is_some_and(|below| !below.is_empty())
    }
}
