//! The servers behind a gateway: each on its own, and everything as it came.

mod client;
mod everything;
mod lists;
mod notifications;
mod passthrough;
mod requests;
mod resources;
mod starting;
mod support;
