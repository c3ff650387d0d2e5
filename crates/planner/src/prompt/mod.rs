//! What a model is told that is to write a plan.

mod choice;
mod feedback;
mod form;
mod lines;
mod memory;
mod moment;
mod native;
mod notation;
mod task;

pub(crate) use choice::tools_for;
pub use feedback::feedback;
pub(crate) use feedback::{feedback_in_lines, wrong};
pub use form::plan_form;
pub(crate) use form::{arguments_form, solution_form};
pub use memory::{Memory, MemoryError};
pub use moment::{Moment, TimePhrase};
pub use native::WRITING;
pub use notation::Notation;
pub use task::Task;
pub(crate) use task::slot_names;
