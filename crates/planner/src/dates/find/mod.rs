//! Finds date phrases within a longer text, such as a question.

mod context;
mod mention;

#[cfg(test)]
mod tests;

pub use mention::{DateMention, find};
