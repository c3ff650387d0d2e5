//! Prompts for a model that writes a plan.

mod dialect;
mod task;

pub use dialect::{PLAN_INSTRUCTIONS, PlanDialect, feedback, plan_schema};
pub(crate) use dialect::{arguments_schema, error_list, lines_feedback, solution_schema};
pub use task::{Memory, MemoryError, PlanTask, TimeContext, TimePhrase};
pub(crate) use task::{slot_names, tool_signatures};
