//! Integration tests of the public API.

mod adapt;
mod agent;
mod analysis;
mod create;
mod golden;
#[cfg(feature = "providers")]
mod providers;
mod recorded_model;
mod stream;
