//! Compensation: the plan that undoes what a run really did, in reverse order.
//!
//! A revert is a run as any other: its plan is checked, asks and is journaled. What makes it safe to repeat is its header, which names the
//! calls that it undoes: a later revert of the same run leaves out those that are undone or in doubt.

mod arguments;
mod calls;
mod document;
mod labels;
mod outcomes;
mod proposal;
mod start;

pub use proposal::{DoubtfulCall, PlannedUndo, Revert, RevertRequest, UnrevertedCall};
pub use start::PreparedRevert;
pub(in crate::service) use start::{RevertOnFailure, store_for_revert};
