//! Tests of the servers behind a gateway.

mod everything;
mod lists;
mod notifications;
mod passthrough;
mod requests;
mod starting;
pub(crate) mod support;
