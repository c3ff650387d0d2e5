//! Prompts for a model that writes a plan.

mod dialect;
mod feedback;
mod memory;
mod reply_schema;
mod task;
mod tool_selection;

pub use dialect::{PLAN_INSTRUCTIONS, PlanDialect};
pub use feedback::feedback;
pub(crate) use feedback::{error_list, lines_feedback};
pub use memory::{Memory, MemoryError};
pub use reply_schema::plan_schema;
pub(crate) use reply_schema::{arguments_schema, solution_schema};
pub(crate) use task::slot_names;
pub use task::{PlanTask, TimeContext, TimePhrase};
pub(crate) use tool_selection::tool_signatures;
