//! Calls of a run: consent, guard checks, attempts and validation.

pub(super) mod approvals;
pub(super) mod attempts;
pub(super) mod flow;
