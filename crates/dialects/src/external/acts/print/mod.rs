//! Writes a plan as the Acts do.

mod context;
mod output_slots;
mod plan;
mod writer;

pub(super) use plan::print;
