//! Stages of work: which tools a client has now, and where it can go from here.

mod machine;
mod refusal;

pub use machine::Stages;
pub use refusal::{MoveError, NotInStage};

#[cfg(test)]
mod tests;
