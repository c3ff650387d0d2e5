//! Prompts for a model that writes a plan.

mod dialect;
mod memory;
mod reply_schema;
mod task;

pub use dialect::{PLAN_INSTRUCTIONS, PlanDialect, feedback};
pub(crate) use dialect::{error_list, lines_feedback};
pub use memory::{Memory, MemoryError};
pub use reply_schema::plan_schema;
pub(crate) use reply_schema::{arguments_schema, solution_schema};
pub use task::{PlanTask, TimeContext, TimePhrase};
pub(crate) use task::{slot_names, tool_signatures};
