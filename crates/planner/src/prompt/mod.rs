//! Prompts for a model that writes a plan.

mod dialect;
mod task;
mod tool_list;

pub(crate) use dialect::{arguments_schema, error_list, lines_feedback, solution_schema};
pub(crate) use dialect::{enforced_schema, format_hint};
pub use dialect::{feedback, plan_schema};
pub use task::{Memory, MemoryError, PlanPrompt, PlanTask, TimeContext, TimePhrase};
pub(crate) use task::{slot_names, system_prompt};
pub(crate) use tool_list::ToolList;
