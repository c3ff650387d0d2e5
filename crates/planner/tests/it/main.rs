//! Integration tests of the public API.

mod adapt;
mod agent;
mod analysis;
mod create;
#[cfg(feature = "providers")]
mod providers;
mod stream;
mod support;
