//! Tests of the crate through its public interface.

mod chance;
mod plans;
mod properties;
mod readers;
