//! `planwright learn`: plans from traces.

pub(crate) mod command;
mod recurring;
mod report;
mod traces;
