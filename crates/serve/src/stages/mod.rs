//! Stages of work: the current tools of a client, and the stages that can follow.

mod machine;

pub use self::machine::{MoveError, NotInStage};
pub use machine::Stages;

#[cfg(test)]
mod tests;
