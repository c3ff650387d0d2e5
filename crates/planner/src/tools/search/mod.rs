//! Finds tools by words.

mod expansion;
mod index;
mod words;

pub use index::{SearchIndex, ToolHit};
