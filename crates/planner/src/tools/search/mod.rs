//! Finding tools by words: BM25 over their names, titles, descriptions and parameters.

mod document;
mod index;
mod words;

pub use index::{Hit, SearchIndex};

#[cfg(test)]
mod tests;
