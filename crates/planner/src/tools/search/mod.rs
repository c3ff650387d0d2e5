//! Finds tools by words: BM25 over their names, titles, descriptions, and parameters.
//!
//! Design: [Tool search uses the crate `bm25` without its tokenizer](https://github.com/planwright/planwright/blob/main/docs/design/tools.md#tool-search-uses-the-crate-bm25-without-its-tokenizer).

mod index;

#[cfg(test)]
mod tests;

pub use index::{SearchIndex, ToolHit};
