//! What the crate promises, from outside.

mod adapt;
mod agent;
mod analysis;
mod create;
mod golden;
mod heard;
#[cfg(feature = "providers")]
mod providers;
mod stream;
