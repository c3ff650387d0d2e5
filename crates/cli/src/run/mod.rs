//! Commands and sessions that run plans.

pub(crate) mod adaptation;
pub(crate) mod call;
pub(crate) mod demo;
pub(crate) mod early_run;
pub(crate) mod plan_file;
pub(crate) mod restate;
pub(crate) mod resume;
pub(crate) mod revert;
pub(crate) mod session;
pub(crate) mod stopping;
