//! Loaded plans.

mod advice;
mod loaded;

pub(crate) use advice::MAX_READINGS;
pub use loaded::{
    LoadedPlan, RECALLED, ResultLabels, declared_inputs, recalled, single_call, tool_names,
};
