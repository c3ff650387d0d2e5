//! Diagnostics with their place in the text.

mod report;

pub(crate) use report::show;

#[cfg(test)]
pub(crate) mod tests;
