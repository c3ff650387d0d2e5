//! The stdio transport: a server as a child process.

pub(crate) mod log;
pub(crate) mod pipe;
pub(crate) mod process;
