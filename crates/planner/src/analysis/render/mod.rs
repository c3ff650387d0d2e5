//! Analyses and values as text for a prompt.

mod lines;
mod trim;

#[cfg(test)]
mod tests;

pub use trim::{TrimmedValue, trim_value};
