//! Commands about stored runs and plans.

pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod show;
pub(crate) mod stored_plans;
