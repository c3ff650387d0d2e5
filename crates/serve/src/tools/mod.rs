//! The gateway's own tools: their definitions and arguments, the search for upstream tools, and calls without a plan.

pub(crate) mod arguments;
pub(crate) mod definitions;
mod find;
pub(crate) mod guarded;
pub(crate) mod snapshot;
