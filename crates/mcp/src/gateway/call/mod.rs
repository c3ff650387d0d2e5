//! Calls of clients: driven to a result, suspended for input, or passed to a server.

pub(super) mod driver;
pub(super) mod results;
pub(super) mod suspended;
