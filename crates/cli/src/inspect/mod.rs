//! Commands that inspect plans and tools without a run.

pub(crate) mod commands;
pub(crate) mod convert;
pub(crate) mod flow;
mod saved;
