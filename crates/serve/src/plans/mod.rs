//! Plans from their text to a run: creation, checks, execution, approval and resumption.

pub(crate) mod approver;
mod continuation;
pub(crate) mod create;
pub(crate) mod execute;
pub(crate) mod resume;
pub(crate) mod writer;
