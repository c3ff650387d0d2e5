//! Lowers a native plan.

mod fields;
mod plan;
mod slots;
mod step;

pub(super) use plan::parse;
