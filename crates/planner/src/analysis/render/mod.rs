//! Analyses and values as text for a prompt.

mod escape;
mod figures;
mod lines;
mod trim;

#[cfg(test)]
mod tests;

pub use trim::{TrimmedValue, trim_value};
