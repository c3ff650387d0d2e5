//! Commands about stored runs.

mod diff;
mod exchange;
mod follow;
mod list;
mod logs;
mod replay;
pub(crate) mod schemas;
mod show;
mod support;
