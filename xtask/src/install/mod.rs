//! Installation of external programs below cargo's target folder, in pinned versions.

mod chromium;
mod debian;
mod environment;
pub(crate) mod judges;
mod postgres;
pub(crate) mod servers;
mod tools;

pub(crate) use chromium::chromium;
pub(crate) use environment::{Environment, Registry, install_all};
pub(crate) use postgres::postgres;
pub(crate) use tools::install_tool;
