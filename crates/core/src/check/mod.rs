//! The check of a plan: reports every problem that is known before the first call.

mod checked_plan;
mod context;
mod dependencies;
mod digest;
mod initial_types;
mod inspection;
mod passes;
mod pipeline;
mod reporter;
mod resolved_plan;
mod slot_writers;
mod tool_mismatch;
mod type_inference;

pub(crate) use checked_plan::CheckedData;
pub use checked_plan::{CheckedPlan, CheckedStep, Dependency, DependencyKind, UnprovedReads};
pub use context::{
    AllowList, CheckContext, Library, Limits, Policy, Release, Releases, StageRule, ToolRule,
};
pub use dependencies::dependencies;
pub use inspection::{PlanInspection, SlotType, StepTypes, inspect};
pub use passes::positional::name_arguments;
pub use pipeline::{check, check_without_inputs};
pub use tool_mismatch::ToolMismatch;
pub(crate) use type_inference::error_type;

#[cfg(test)]
mod tests;
