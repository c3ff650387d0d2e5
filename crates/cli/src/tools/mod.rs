//! The tools of a command: their servers, trust, and changed definitions.

pub(crate) mod changed_tools;
mod on_demand;
pub(crate) mod open_servers;
mod server_view;
pub(crate) mod servers;
pub(crate) mod toolbox;
pub(crate) mod trust;
