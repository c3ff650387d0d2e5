//! Finds tools by words: BM25 over their names, titles, descriptions, and parameters.

mod index;

#[cfg(test)]
mod tests;

pub use index::{SearchIndex, ToolHit};
