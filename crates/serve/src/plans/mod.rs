//! Plans from their text to a run: creation, checks, execution, approval, resumption and reverts.

pub(crate) mod approver;
mod continuation;
pub(crate) mod create;
pub(crate) mod execute;
pub(crate) mod resume;
mod revert;
pub(crate) mod writer;
