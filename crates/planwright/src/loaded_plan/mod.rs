//! Loaded plans.

mod advice;
mod loaded;

pub(crate) use advice::MAX_READINGS;
pub use loaded::{
    LoadedPlan, RECALLED, ResultLabels, declared_inputs, named_call, recalled, single_call,
    tool_names,
};
