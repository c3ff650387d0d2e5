//! Tests of the servers behind a gateway.

mod client;
mod everything;
mod lists;
mod notifications;
mod passthrough;
mod requests;
mod resources;
mod starting;
mod support;
