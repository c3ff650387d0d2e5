//! The handler of the requests of one connection.

mod forwarding;
mod notifications;
mod prompts;
mod resources;
pub(super) mod service;
mod tools;
