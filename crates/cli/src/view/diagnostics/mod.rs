//! Diagnostics with their place in the text.

mod report;

pub(crate) use report::{show, show_for};

#[cfg(test)]
pub(crate) mod tests;
