//! Stages of work: which tools a client has now, and where it can go from here.

mod machine;

pub use self::machine::{MoveError, NotInStage};
pub use machine::Stages;

#[cfg(test)]
mod tests;
