//! What a model is told that is to write a plan.

mod choice;
mod feedback;
mod memory;
mod native;
mod task;

pub(crate) use choice::tools_for;
pub use feedback::feedback;
pub(crate) use feedback::wrong;
pub use memory::{Memory, MemoryError};
pub use native::{WRITING, answer_schema};
pub(crate) use task::slot_names;
pub use task::{Task, TimePhrase};
