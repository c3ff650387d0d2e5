//! Writes a plan as the Acts do.

mod context;
mod output_slots;
mod plan;

pub(super) use plan::print;
