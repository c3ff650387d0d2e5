//! Decisions about calls and plans: those of files, flags, other processes, and the person at the terminal.

pub(crate) mod approver;
pub(crate) mod decide;
pub(crate) mod passphrase;
pub(crate) mod plan;
pub(crate) mod review;
mod terminal;
pub(crate) mod waiting;
