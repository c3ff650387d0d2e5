//! Calls of a run: consent, guard checks, attempts and validation.

pub(super) mod approvals;
pub(super) mod attempts;
pub(super) mod definition_digests;
pub(super) mod flow;
pub(super) mod run_flow;
