//! Commands that inspect plans and tools without a run.

pub(crate) mod check;
pub(crate) mod commands;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod flow;
pub(crate) mod lsp;
