//! Runs that are kept are things to look at.

mod replay;
mod support;
