//! Commands about stored runs.

mod diff;
mod exchange;
mod follow;
mod list;
mod logs;
mod replay;
mod schemas;
mod show;
mod support;
