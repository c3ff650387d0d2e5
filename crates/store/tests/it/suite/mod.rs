//! The tests that every database passes. `crate::scene` provides a store in the database under test.

mod answers;
mod calls;
pub(crate) mod decisions;
mod durations;
mod exchange;
mod leases;
mod pins;
mod plans;
pub(crate) mod prune;
mod records;
mod runs;
pub(crate) mod support;
