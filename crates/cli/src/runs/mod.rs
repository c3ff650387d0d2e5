//! Commands about stored runs and plans.

pub(crate) mod diff;
pub(crate) mod diff_text;
pub(crate) mod exchange;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod run_storage;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod stored_plans;
