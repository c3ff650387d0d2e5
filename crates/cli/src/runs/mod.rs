//! Commands about stored runs and plans.

pub(crate) mod diff;
pub(crate) mod exchange;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod store;
