//! OAuth authorization at remote servers.
//!
//! Design: [Login is a command, not a part of a run](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#login-is-a-command-not-a-part-of-a-run).

pub(crate) mod authorizer;
mod tokens;

pub use tokens::Tokens;
