//! Runs that are kept are things to look at.

mod diff;
mod exchange;
mod follow;
mod list;
mod logs;
mod replay;
mod schemas;
mod show;
mod support;
