//! What the crate promises, from outside.

mod create;
#[cfg(feature = "providers")]
mod providers;
