//! Calls of clients: driven to a result, suspended for input, or passed to a server.

pub(super) mod channel;
pub(super) mod driver;
pub(super) mod passthrough;
pub(super) mod raw_results;
pub(super) mod suspended;
pub(super) mod translate;
