//! Lowers a native plan.

mod plan;
mod slots;
mod step;

pub(super) use plan::parse;
