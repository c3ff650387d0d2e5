//! The handler of the requests of one connection.

mod changes;
pub(super) mod forwarding;
pub(super) mod gateway_handler;
mod notifications;
mod offers;
mod service;
