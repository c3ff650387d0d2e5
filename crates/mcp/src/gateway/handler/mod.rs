//! The handler of the requests of one connection.

pub(super) mod forwarding;
mod notifications;
mod offers;
pub(super) mod service;
