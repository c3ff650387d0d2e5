//! Calls of a run: consent, guard checks, attempts and validation.

pub(super) mod admission;
mod approvals;
mod attempts;
