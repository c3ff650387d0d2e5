//! Commands about stored runs and plans.

pub(crate) mod diff;
pub(crate) mod exchange;
pub(crate) mod follow;
pub(crate) mod list;
pub(crate) mod logs;
mod plan_diff;
pub(crate) mod replay;
pub(crate) mod selector;
mod sessions;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod watch;
