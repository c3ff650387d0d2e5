//! Calls of a run: consent, guard checks, attempts and validation.

pub(super) mod admission;
pub(super) mod approvals;
mod attempts;
pub(super) mod flow;
