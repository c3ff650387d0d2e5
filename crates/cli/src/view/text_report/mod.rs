//! A run for people on standard output: the output of the plan, and for a dry run its calls.

mod outcome;

pub(crate) use outcome::{dry_run, text};

#[cfg(test)]
mod tests;
