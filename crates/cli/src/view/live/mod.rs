//! The live view of a run: on a terminal, a line for each step in flight, below one for each that has ended.

mod plain_lines;
mod step_lines;
mod summary;
mod terminal;

pub(crate) use terminal::{EndedStepLines, Live};

#[cfg(test)]
mod tests;
