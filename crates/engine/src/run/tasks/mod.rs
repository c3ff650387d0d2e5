//! Tasks of a run: from the steps of a plan to their outcomes.

mod complete;
mod group;
mod group_outcome;
mod instantiate;
mod prepare;
mod task_action;
pub(super) mod task_data;
