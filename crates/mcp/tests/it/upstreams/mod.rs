//! Tests of the servers behind a gateway.

mod everything;
mod lists;
mod passthrough;
mod requests;
mod starting;
pub(crate) mod support;
