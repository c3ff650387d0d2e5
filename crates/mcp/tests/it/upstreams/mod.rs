//! Tests of the servers behind a gateway.

mod everything;
mod lists;
mod passthrough;
mod replacing;
mod requests;
mod starting;
pub(crate) mod support;
