//! Tests of the crate through its public interface.

mod plans;
mod properties;
mod readers;
