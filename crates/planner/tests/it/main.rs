//! What the crate promises, from outside.

mod agent;
mod create;
mod golden;
#[cfg(feature = "providers")]
mod providers;
mod stream;
