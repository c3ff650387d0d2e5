//! Setup: the first files of a project, its settings, and the clients that use the gateway.

pub(crate) mod complete;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod settings;
pub(crate) mod wrap;
