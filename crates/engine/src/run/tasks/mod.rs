//! Tasks of a run: from the steps of a plan to their outcomes.

mod complete;
mod group;
mod prepare;
pub(super) mod task;
