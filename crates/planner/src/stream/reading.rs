//! Reads half an answer in the notation that was asked for.

use planwright_dialects::native::lines::LineReader;

use super::reader::PlanReader;
use crate::prompt::Notation;

/// What finds the steps in half an answer.
#[derive(Debug)]
pub(super) enum Reading {
    Json(PlanReader),
    Lines(LineReader),
}

impl Reading {
    /// Reads answers of at most `most` bytes.
    pub(super) fn new(notation: Notation, most: usize) -> Self {
        match notation {
            Notation::Json => Self::Json(PlanReader::new(most)),
            Notation::Lines => Self::Lines(LineReader::new(most)),
        }
    }

    /// Takes in the next piece, and says how many steps have come to their end in it.
    pub(super) fn feed(&mut self, piece: &str) -> usize {
        match self {
            Self::Json(reader) => reader.feed(piece),
            Self::Lines(reader) => reader.feed(piece),
        }
    }

    /// The plan as far as it is there.
    pub(super) fn beginning(&self) -> Option<String> {
        match self {
            Self::Json(reader) => reader.beginning(),
            Self::Lines(reader) => reader.beginning(),
        }
    }
}
