//! Reports about runs: summaries, previews and estimates.

pub(super) mod cost_model;
pub(super) mod estimate;
pub(super) mod step_times;
pub(super) mod summary;
