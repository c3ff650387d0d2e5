//! The stdio transport: a server as a child process.
//!
//! Design: [Our own stdio transport](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#our-own-stdio-transport).

pub(crate) mod process;
pub(crate) mod stderr_log;
